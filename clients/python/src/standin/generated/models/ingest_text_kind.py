from enum import Enum


class IngestTextKind(str, Enum):
    CAPTION = "caption"
    CHAT = "chat"

    def __str__(self) -> str:
        return str(self.value)
