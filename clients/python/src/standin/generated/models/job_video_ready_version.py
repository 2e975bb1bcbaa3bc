from ..._enum import OpenIntEnum


class JobVideoReadyVersion(OpenIntEnum):
    VALUE_1 = 1
    VALUE_2 = 2
