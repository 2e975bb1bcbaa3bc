from ..._enum import OpenEnum


class CalendarInvitePlatform(OpenEnum):
    MEET = "meet"
    TEAMS = "teams"
    ZOOM_WEB = "zoom-web"
