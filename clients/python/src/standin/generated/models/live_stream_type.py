from enum import Enum


class LiveStreamType(str, Enum):
    STREAM = "stream"

    def __str__(self) -> str:
        return str(self.value)
