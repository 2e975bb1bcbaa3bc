from enum import Enum


class LiveCommandOutcome(str, Enum):
    DONE = "done"
    FAILED = "failed"

    def __str__(self) -> str:
        return str(self.value)
