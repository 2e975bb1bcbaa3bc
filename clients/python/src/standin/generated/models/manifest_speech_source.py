from enum import Enum


class ManifestSpeechSource(str, Enum):
    AUDIO = "audio"
    NONE = "none"
    PAGE = "page"
    PAGE_AND_AUDIO = "page_and_audio"

    def __str__(self) -> str:
        return str(self.value)
