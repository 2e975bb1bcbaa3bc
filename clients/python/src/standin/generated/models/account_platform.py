from ..._enum import OpenEnum


class AccountPlatform(OpenEnum):
    MEET = "meet"
    TEAMS = "teams"
    ZOOM_WEB = "zoom-web"
