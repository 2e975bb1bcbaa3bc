from ..._enum import OpenEnum


class KeyMode(OpenEnum):
    LIVE = "live"
    TEST = "test"
