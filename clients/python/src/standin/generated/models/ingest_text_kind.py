from ..._enum import OpenEnum


class IngestTextKind(OpenEnum):
    CAPTION = "caption"
    CHAT = "chat"
