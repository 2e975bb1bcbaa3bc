from enum import Enum


class RecordingOptionsResolution(str, Enum):
    VALUE_0 = "720p"
    VALUE_1 = "1080p"

    def __str__(self) -> str:
        return str(self.value)
