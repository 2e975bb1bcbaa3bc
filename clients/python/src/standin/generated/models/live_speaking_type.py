from ..._enum import OpenEnum


class LiveSpeakingType(OpenEnum):
    SPEAKING = "speaking"
