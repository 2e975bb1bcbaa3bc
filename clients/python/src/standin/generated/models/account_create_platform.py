from enum import Enum


class AccountCreatePlatform(str, Enum):
    MEET = "meet"
    TEAMS = "teams"
    ZOOM_WEB = "zoom-web"

    def __str__(self) -> str:
        return str(self.value)
