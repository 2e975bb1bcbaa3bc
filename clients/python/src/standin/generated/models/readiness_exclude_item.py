from enum import Enum


class ReadinessExcludeItem(str, Enum):
    DATABASE = "database"
    LAUNCHER = "launcher"
    SCHEMA = "schema"
    STORAGE = "storage"

    def __str__(self) -> str:
        return str(self.value)
