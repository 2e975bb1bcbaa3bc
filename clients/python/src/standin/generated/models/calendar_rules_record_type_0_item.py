from ..._enum import OpenEnum


class CalendarRulesRecordType0Item(OpenEnum):
    ACCEPTED = "accepted"
    ALL = "all"
    EXTERNAL = "external"
    INTERNAL = "internal"
    NONE = "none"
    ORGANIZED = "organized"
    PUBLIC = "public"
