from ..._enum import OpenEnum


class MediaFileKind(OpenEnum):
    AUDIO = "audio"
    CAPTIONS = "captions"
    CHAT = "chat"
    PARTICIPANT_AUDIO = "participant_audio"
    PARTICIPANT_VIDEO = "participant_video"
    SCREEN_SHARE = "screen_share"
    TRANSCRIPT = "transcript"
    VIDEO = "video"
