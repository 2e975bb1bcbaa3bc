from ..._enum import OpenEnum


class TextMatchKind(OpenEnum):
    CAPTION = "caption"
    CHAT = "chat"
    TRANSCRIPT = "transcript"
