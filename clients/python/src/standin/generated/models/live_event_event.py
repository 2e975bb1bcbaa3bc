from enum import Enum


class LiveEventEvent(str, Enum):
    CAPTION = "caption"
    CHAT = "chat"
    COMMAND = "command"
    END = "end"
    PARTICIPANTS = "participants"
    SPEAKING = "speaking"
    STATE = "state"

    def __str__(self) -> str:
        return str(self.value)
