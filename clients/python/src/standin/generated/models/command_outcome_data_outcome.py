from enum import Enum


class CommandOutcomeDataOutcome(str, Enum):
    DONE = "done"
    FAILED = "failed"

    def __str__(self) -> str:
        return str(self.value)
