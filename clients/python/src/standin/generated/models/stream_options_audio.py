from ..._enum import OpenEnum


class StreamOptionsAudio(OpenEnum):
    BOTH = "both"
    MIXED = "mixed"
    PARTICIPANTS = "participants"
