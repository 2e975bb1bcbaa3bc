from ..._enum import OpenIntEnum


class CommandOutcomeVersion(OpenIntEnum):
    VALUE_1 = 1
    VALUE_2 = 2
