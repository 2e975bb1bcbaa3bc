from ..._enum import OpenEnum


class IngestTextsResultReason(OpenEnum):
    STALE_ATTEMPT = "stale_attempt"
    TERMINAL = "terminal"
