from enum import Enum


class RecordingOptionsCapture(str, Enum):
    STREAMS = "streams"
    TAB = "tab"

    def __str__(self) -> str:
        return str(self.value)
