from ..._enum import OpenEnum


class LiveStreamState(OpenEnum):
    CONNECTED = "connected"
    DISCONNECTED = "disconnected"
    FAILED = "failed"
