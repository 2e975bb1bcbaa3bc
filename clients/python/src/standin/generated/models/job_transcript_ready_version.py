from ..._enum import OpenIntEnum


class JobTranscriptReadyVersion(OpenIntEnum):
    VALUE_1 = 1
    VALUE_2 = 2
