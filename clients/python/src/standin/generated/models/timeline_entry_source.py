from enum import Enum


class TimelineEntrySource(str, Enum):
    BOT = "bot"
    SERVICE = "service"

    def __str__(self) -> str:
        return str(self.value)
