from enum import Enum


class MediaFileKind(str, Enum):
    AUDIO = "audio"
    CAPTIONS = "captions"
    CHAT = "chat"
    PARTICIPANT_AUDIO = "participant_audio"
    PARTICIPANT_VIDEO = "participant_video"
    SCREEN_SHARE = "screen_share"
    TRANSCRIPT = "transcript"
    VIDEO = "video"

    def __str__(self) -> str:
        return str(self.value)
