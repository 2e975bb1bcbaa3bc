from ..._enum import OpenIntEnum


class ParticipantChangedVersion(OpenIntEnum):
    VALUE_1 = 1
    VALUE_2 = 2
