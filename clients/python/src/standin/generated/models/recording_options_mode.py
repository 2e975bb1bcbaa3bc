from enum import Enum


class RecordingOptionsMode(str, Enum):
    AUDIO = "audio"
    NONE = "none"
    VIDEO = "video"

    def __str__(self) -> str:
        return str(self.value)
