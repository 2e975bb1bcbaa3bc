from enum import Enum


class CalendarRulesRecord(str, Enum):
    ACCEPTED = "accepted"
    ALL = "all"
    EXTERNAL = "external"
    INTERNAL = "internal"
    NONE = "none"
    ORGANIZED = "organized"

    def __str__(self) -> str:
        return str(self.value)
