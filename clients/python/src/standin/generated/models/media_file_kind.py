from enum import Enum


class MediaFileKind(str, Enum):
    AUDIO = "audio"
    CAPTIONS = "captions"
    CHAT = "chat"
    PARTICIPANT_AUDIO = "participant_audio"
    TRANSCRIPT = "transcript"
    VIDEO = "video"

    def __str__(self) -> str:
        return str(self.value)
