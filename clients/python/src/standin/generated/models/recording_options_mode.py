from ..._enum import OpenEnum


class RecordingOptionsMode(OpenEnum):
    AUDIO = "audio"
    NONE = "none"
    VIDEO = "video"
