from ..._enum import OpenEnum


class RecordingOptionsResolution(OpenEnum):
    VALUE_0 = "720p"
    VALUE_1 = "1080p"
