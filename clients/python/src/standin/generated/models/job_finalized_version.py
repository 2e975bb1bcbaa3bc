from ..._enum import OpenIntEnum


class JobFinalizedVersion(OpenIntEnum):
    VALUE_1 = 1
    VALUE_2 = 2
