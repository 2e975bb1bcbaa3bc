from enum import Enum


class CalendarRulesRecordItem(str, Enum):
    ACCEPTED = "accepted"
    ALL = "all"
    EXTERNAL = "external"
    INTERNAL = "internal"
    NONE = "none"
    ORGANIZED = "organized"
    PUBLIC = "public"

    def __str__(self) -> str:
        return str(self.value)
