from ..._enum import OpenIntEnum


class CalendarEventChangedVersion(OpenIntEnum):
    VALUE_1 = 1
    VALUE_2 = 2
