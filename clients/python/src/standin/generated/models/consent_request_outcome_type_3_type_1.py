from enum import Enum


class ConsentRequestOutcomeType3Type1(str, Enum):
    DENIED = "denied"
    GRANTED = "granted"
    TIMEOUT = "timeout"

    def __str__(self) -> str:
        return str(self.value)
