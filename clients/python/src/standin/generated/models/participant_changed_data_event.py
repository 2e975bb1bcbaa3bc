from ..._enum import OpenEnum


class ParticipantChangedDataEvent(OpenEnum):
    PARTICIPANT_JOINED = "participant.joined"
    PARTICIPANT_LEFT = "participant.left"
