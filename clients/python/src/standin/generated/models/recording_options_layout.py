from ..._enum import OpenEnum


class RecordingOptionsLayout(OpenEnum):
    CONTENT = "content"
    GALLERY = "gallery"
    PAGE = "page"
    SPEAKER = "speaker"
