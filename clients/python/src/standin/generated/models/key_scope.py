from enum import Enum


class KeyScope(str, Enum):
    ADMIN = "admin"
    JOBS = "jobs"
    READ = "read"

    def __str__(self) -> str:
        return str(self.value)
