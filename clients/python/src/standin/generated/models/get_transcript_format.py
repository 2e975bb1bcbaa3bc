from ..._enum import OpenEnum


class GetTranscriptFormat(OpenEnum):
    JSON = "json"
    TEXT = "text"
    VTT = "vtt"
