from enum import Enum


class TimelineEntryReasonType1(str, Enum):
    DUPLICATE = "duplicate"
    OUT_OF_ORDER = "out_of_order"
    STALE_ATTEMPT = "stale_attempt"
    TERMINAL = "terminal"

    def __str__(self) -> str:
        return str(self.value)
