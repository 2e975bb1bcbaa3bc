from enum import Enum


class GetTranscriptFormat(str, Enum):
    JSON = "json"
    TEXT = "text"
    VTT = "vtt"

    def __str__(self) -> str:
        return str(self.value)
