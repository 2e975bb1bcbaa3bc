from ..._enum import OpenEnum


class ParticipantChangedEvent(OpenEnum):
    PARTICIPANT_JOINED = "participant.joined"
    PARTICIPANT_LEFT = "participant.left"
