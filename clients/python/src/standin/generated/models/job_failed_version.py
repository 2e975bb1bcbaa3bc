from ..._enum import OpenIntEnum


class JobFailedVersion(OpenIntEnum):
    VALUE_1 = 1
    VALUE_2 = 2
