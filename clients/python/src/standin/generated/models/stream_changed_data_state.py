from enum import Enum


class StreamChangedDataState(str, Enum):
    CONNECTED = "connected"
    DISCONNECTED = "disconnected"
    FAILED = "failed"

    def __str__(self) -> str:
        return str(self.value)
