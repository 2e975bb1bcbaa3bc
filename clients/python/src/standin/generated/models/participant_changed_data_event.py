from enum import Enum


class ParticipantChangedDataEvent(str, Enum):
    PARTICIPANT_JOINED = "participant.joined"
    PARTICIPANT_LEFT = "participant.left"

    def __str__(self) -> str:
        return str(self.value)
