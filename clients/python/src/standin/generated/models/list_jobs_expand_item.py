from enum import Enum


class ListJobsExpandItem(str, Enum):
    DETAILS = "details"

    def __str__(self) -> str:
        return str(self.value)
