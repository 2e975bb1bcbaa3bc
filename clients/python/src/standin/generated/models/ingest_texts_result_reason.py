from enum import Enum


class IngestTextsResultReason(str, Enum):
    STALE_ATTEMPT = "stale_attempt"
    TERMINAL = "terminal"

    def __str__(self) -> str:
        return str(self.value)
