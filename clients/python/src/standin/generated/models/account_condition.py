from enum import Enum


class AccountCondition(str, Enum):
    IN_USE = "in_use"
    READY = "ready"
    RESTING = "resting"
    SIGNED_OUT = "signed_out"

    def __str__(self) -> str:
        return str(self.value)
