from enum import Enum


class CalendarCreateProvider(str, Enum):
    FEED = "feed"
    GOOGLE = "google"
    MICROSOFT = "microsoft"

    def __str__(self) -> str:
        return str(self.value)
