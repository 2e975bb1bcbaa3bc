from ..._enum import OpenEnum


class TimelineEntryReasonType1(OpenEnum):
    DUPLICATE = "duplicate"
    OUT_OF_ORDER = "out_of_order"
    STALE_ATTEMPT = "stale_attempt"
    TERMINAL = "terminal"
