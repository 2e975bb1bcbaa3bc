from ..._enum import OpenEnum


class ReadinessExcludeItem(OpenEnum):
    DATABASE = "database"
    LAUNCHER = "launcher"
    SCHEMA = "schema"
    STORAGE = "storage"
