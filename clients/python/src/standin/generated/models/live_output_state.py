from ..._enum import OpenEnum


class LiveOutputState(OpenEnum):
    FAILED = "failed"
    FINISHED = "finished"
    STARTED = "started"
