from ..._enum import OpenEnum


class TextFileKind(OpenEnum):
    CAPTIONS = "captions"
    CHAT = "chat"
