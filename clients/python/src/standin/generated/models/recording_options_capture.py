from ..._enum import OpenEnum


class RecordingOptionsCapture(OpenEnum):
    STREAMS = "streams"
    TAB = "tab"
