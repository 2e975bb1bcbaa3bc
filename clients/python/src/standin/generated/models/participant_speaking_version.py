from ..._enum import OpenIntEnum


class ParticipantSpeakingVersion(OpenIntEnum):
    VALUE_1 = 1
    VALUE_2 = 2
