from ..._enum import OpenIntEnum


class TranscriptDataVersion(OpenIntEnum):
    VALUE_1 = 1
    VALUE_2 = 2
