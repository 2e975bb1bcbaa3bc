from ..._enum import OpenEnum


class TranscriptSegmentSource(OpenEnum):
    CAPTIONS = "captions"
    LIVE = "live"
    MIXED = "mixed"
    PARTICIPANT_AUDIO = "participant_audio"
