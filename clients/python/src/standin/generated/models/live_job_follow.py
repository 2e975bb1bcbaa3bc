from ..._enum import OpenEnum


class LiveJobFollow(OpenEnum):
    FALSE = "false"
    TRUE = "true"
