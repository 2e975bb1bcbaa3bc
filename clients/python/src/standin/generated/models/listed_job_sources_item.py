from enum import Enum


class ListedJobSourcesItem(str, Enum):
    API = "api"
    FEED = "feed"
    GOOGLE = "google"
    INTAKE = "intake"
    MAIL = "mail"
    MICROSOFT = "microsoft"

    def __str__(self) -> str:
        return str(self.value)
