from ..._enum import OpenEnum


class LiveTranscriptType(OpenEnum):
    TRANSCRIPT = "transcript"
