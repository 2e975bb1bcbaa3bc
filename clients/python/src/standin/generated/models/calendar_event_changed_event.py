from enum import Enum


class CalendarEventChangedEvent(str, Enum):
    CALENDAR_EVENT_CANCELLED = "calendar.event_cancelled"
    CALENDAR_EVENT_SCHEDULED = "calendar.event_scheduled"
    CALENDAR_EVENT_UPDATED = "calendar.event_updated"

    def __str__(self) -> str:
        return str(self.value)
