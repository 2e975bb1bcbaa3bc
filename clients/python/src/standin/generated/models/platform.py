from enum import Enum


class Platform(str, Enum):
    MEET = "meet"
    TEAMS = "teams"
    ZOOM_SDK = "zoom-sdk"
    ZOOM_WEB = "zoom-web"

    def __str__(self) -> str:
        return str(self.value)
