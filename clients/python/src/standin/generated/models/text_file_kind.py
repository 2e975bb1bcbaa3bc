from enum import Enum


class TextFileKind(str, Enum):
    CAPTIONS = "captions"
    CHAT = "chat"

    def __str__(self) -> str:
        return str(self.value)
