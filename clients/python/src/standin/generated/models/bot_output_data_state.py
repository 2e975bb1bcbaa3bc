from enum import Enum


class BotOutputDataState(str, Enum):
    FAILED = "failed"
    FINISHED = "finished"
    STARTED = "started"

    def __str__(self) -> str:
        return str(self.value)
