from enum import Enum


class JobDetailsSourcesItem(str, Enum):
    API = "api"
    FEED = "feed"
    GOOGLE = "google"
    INTAKE = "intake"
    MAIL = "mail"
    MICROSOFT = "microsoft"

    def __str__(self) -> str:
        return str(self.value)
