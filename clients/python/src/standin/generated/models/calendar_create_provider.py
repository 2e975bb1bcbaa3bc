from ..._enum import OpenEnum


class CalendarCreateProvider(OpenEnum):
    FEED = "feed"
    GOOGLE = "google"
    MICROSOFT = "microsoft"
