from ..._enum import OpenEnum


class KeyCreateMode(OpenEnum):
    LIVE = "live"
    TEST = "test"
