from ..._enum import OpenEnum


class LiveParticipantsType(OpenEnum):
    PARTICIPANTS = "participants"
