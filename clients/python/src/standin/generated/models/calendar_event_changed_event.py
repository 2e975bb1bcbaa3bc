from ..._enum import OpenEnum


class CalendarEventChangedEvent(OpenEnum):
    CALENDAR_EVENT_CANCELLED = "calendar.event_cancelled"
    CALENDAR_EVENT_SCHEDULED = "calendar.event_scheduled"
    CALENDAR_EVENT_UPDATED = "calendar.event_updated"
