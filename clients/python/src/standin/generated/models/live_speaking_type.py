from enum import Enum


class LiveSpeakingType(str, Enum):
    SPEAKING = "speaking"

    def __str__(self) -> str:
        return str(self.value)
