from enum import Enum


class LiveEventEvent(str, Enum):
    CAPTION = "caption"
    CHAT = "chat"
    COMMAND = "command"
    END = "end"
    OUTPUT = "output"
    PARTICIPANTS = "participants"
    SPEAKING = "speaking"
    STATE = "state"
    STREAM = "stream"
    TRANSCRIPT = "transcript"

    def __str__(self) -> str:
        return str(self.value)
