from ..._enum import OpenEnum


class AccountCreatePlatform(OpenEnum):
    MEET = "meet"
    TEAMS = "teams"
    ZOOM_WEB = "zoom-web"
