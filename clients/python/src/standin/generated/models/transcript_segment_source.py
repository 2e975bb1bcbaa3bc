from enum import Enum


class TranscriptSegmentSource(str, Enum):
    CAPTIONS = "captions"
    LIVE = "live"
    MIXED = "mixed"
    PARTICIPANT_AUDIO = "participant_audio"

    def __str__(self) -> str:
        return str(self.value)
