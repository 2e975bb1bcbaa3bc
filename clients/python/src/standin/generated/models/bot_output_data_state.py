from ..._enum import OpenEnum


class BotOutputDataState(OpenEnum):
    FAILED = "failed"
    FINISHED = "finished"
    STARTED = "started"
