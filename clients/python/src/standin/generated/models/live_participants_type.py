from enum import Enum


class LiveParticipantsType(str, Enum):
    PARTICIPANTS = "participants"

    def __str__(self) -> str:
        return str(self.value)
