from ..._enum import OpenIntEnum


class CompetingBotDetectedVersion(OpenIntEnum):
    VALUE_1 = 1
    VALUE_2 = 2
