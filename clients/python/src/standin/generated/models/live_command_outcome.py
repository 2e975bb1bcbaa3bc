from ..._enum import OpenEnum


class LiveCommandOutcome(OpenEnum):
    DONE = "done"
    FAILED = "failed"
