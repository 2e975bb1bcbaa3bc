from enum import Enum


class LiveStreamState(str, Enum):
    CONNECTED = "connected"
    GAVE_UP = "gave_up"
    LOST = "lost"

    def __str__(self) -> str:
        return str(self.value)
