from enum import Enum


class StreamOptionsAudio(str, Enum):
    BOTH = "both"
    MIXED = "mixed"
    PARTICIPANTS = "participants"

    def __str__(self) -> str:
        return str(self.value)
