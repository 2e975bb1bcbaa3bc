from ..._enum import OpenEnum


class JobDetailsSourcesItem(OpenEnum):
    API = "api"
    FEED = "feed"
    GOOGLE = "google"
    INTAKE = "intake"
    MAIL = "mail"
    MICROSOFT = "microsoft"
