from enum import Enum


class AccountOwner(str, Enum):
    OPERATOR = "operator"
    TEAM = "team"

    def __str__(self) -> str:
        return str(self.value)
