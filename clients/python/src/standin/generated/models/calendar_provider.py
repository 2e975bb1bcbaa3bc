from ..._enum import OpenEnum


class CalendarProvider(OpenEnum):
    FEED = "feed"
    GOOGLE = "google"
    MICROSOFT = "microsoft"
