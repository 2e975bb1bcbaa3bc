from enum import Enum


class LiveTranscriptType(str, Enum):
    TRANSCRIPT = "transcript"

    def __str__(self) -> str:
        return str(self.value)
