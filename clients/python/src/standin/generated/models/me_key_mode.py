from ..._enum import OpenEnum


class MeKeyMode(OpenEnum):
    LIVE = "live"
    TEST = "test"
