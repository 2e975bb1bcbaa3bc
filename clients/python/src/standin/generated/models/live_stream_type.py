from ..._enum import OpenEnum


class LiveStreamType(OpenEnum):
    STREAM = "stream"
