from ..._enum import OpenEnum


class Platform(OpenEnum):
    MEET = "meet"
    TEAMS = "teams"
    ZOOM_SDK = "zoom-sdk"
    ZOOM_WEB = "zoom-web"
