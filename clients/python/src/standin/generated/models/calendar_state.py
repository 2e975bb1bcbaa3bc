from ..._enum import OpenEnum


class CalendarState(OpenEnum):
    ACTIVE = "active"
    FAILING = "failing"
    REVOKED = "revoked"
    WAITING = "waiting"
