from ..._enum import OpenEnum


class ListedJobSourcesItem(OpenEnum):
    API = "api"
    FEED = "feed"
    GOOGLE = "google"
    INTAKE = "intake"
    MAIL = "mail"
    MICROSOFT = "microsoft"
