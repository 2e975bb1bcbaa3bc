from enum import Enum


class TranscriptSegmentSource(str, Enum):
    CAPTIONS = "captions"
    MIXED = "mixed"
    PARTICIPANT_AUDIO = "participant_audio"

    def __str__(self) -> str:
        return str(self.value)
