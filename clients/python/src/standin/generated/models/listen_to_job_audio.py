from ..._enum import OpenEnum


class ListenToJobAudio(OpenEnum):
    BOTH = "both"
    MIXED = "mixed"
    PARTICIPANTS = "participants"
