from ..._enum import OpenIntEnum


class JobStatusChangedVersion(OpenIntEnum):
    VALUE_1 = 1
    VALUE_2 = 2
