from enum import Enum


class LiveOutputState(str, Enum):
    FAILED = "failed"
    FINISHED = "finished"
    STARTED = "started"

    def __str__(self) -> str:
        return str(self.value)
