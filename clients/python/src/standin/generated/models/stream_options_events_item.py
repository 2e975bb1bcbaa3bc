from enum import Enum


class StreamOptionsEventsItem(str, Enum):
    CAPTION = "caption"
    CHAT = "chat"
    PARTICIPANTS = "participants"
    SPEAKING = "speaking"
    TRANSCRIPT = "transcript"

    def __str__(self) -> str:
        return str(self.value)
