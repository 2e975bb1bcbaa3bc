from ..._enum import OpenEnum


class StreamChangedDataState(OpenEnum):
    CONNECTED = "connected"
    DISCONNECTED = "disconnected"
    FAILED = "failed"
