from ..._enum import OpenEnum


class CreatedKeyMode(OpenEnum):
    LIVE = "live"
    TEST = "test"
