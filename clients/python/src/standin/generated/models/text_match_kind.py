from enum import Enum


class TextMatchKind(str, Enum):
    CAPTION = "caption"
    CHAT = "chat"
    TRANSCRIPT = "transcript"

    def __str__(self) -> str:
        return str(self.value)
