from enum import Enum


class CalendarRulesRecordType0Item(str, Enum):
    ACCEPTED = "accepted"
    ALL = "all"
    EXTERNAL = "external"
    INTERNAL = "internal"
    NONE = "none"
    ORGANIZED = "organized"
    PUBLIC = "public"

    def __str__(self) -> str:
        return str(self.value)
