from ..._enum import OpenEnum


class CommandOutcomeDataOutcome(OpenEnum):
    DONE = "done"
    FAILED = "failed"
