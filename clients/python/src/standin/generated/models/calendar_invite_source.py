from enum import Enum


class CalendarInviteSource(str, Enum):
    INTAKE = "intake"
    MAIL = "mail"

    def __str__(self) -> str:
        return str(self.value)
