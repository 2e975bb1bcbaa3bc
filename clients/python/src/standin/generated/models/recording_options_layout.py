from enum import Enum


class RecordingOptionsLayout(str, Enum):
    CONTENT = "content"
    GALLERY = "gallery"
    PAGE = "page"
    SPEAKER = "speaker"

    def __str__(self) -> str:
        return str(self.value)
