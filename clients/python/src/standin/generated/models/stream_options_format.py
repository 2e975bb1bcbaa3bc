from enum import Enum


class StreamOptionsFormat(str, Enum):
    ATTENDEE = "attendee"
    MEETINGBAAS = "meetingbaas"
    RECALL = "recall"
    STANDIN = "standin"

    def __str__(self) -> str:
        return str(self.value)
