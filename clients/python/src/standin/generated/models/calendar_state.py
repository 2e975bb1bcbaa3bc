from enum import Enum


class CalendarState(str, Enum):
    ACTIVE = "active"
    FAILING = "failing"
    REVOKED = "revoked"
    WAITING = "waiting"

    def __str__(self) -> str:
        return str(self.value)
