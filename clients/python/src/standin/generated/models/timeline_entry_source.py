from ..._enum import OpenEnum


class TimelineEntrySource(OpenEnum):
    BOT = "bot"
    SERVICE = "service"
