from ..._enum import OpenEnum


class LiveTextType(OpenEnum):
    CAPTION = "caption"
    CHAT = "chat"
