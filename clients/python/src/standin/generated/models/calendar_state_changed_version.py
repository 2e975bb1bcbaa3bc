from ..._enum import OpenIntEnum


class CalendarStateChangedVersion(OpenIntEnum):
    VALUE_1 = 1
    VALUE_2 = 2
