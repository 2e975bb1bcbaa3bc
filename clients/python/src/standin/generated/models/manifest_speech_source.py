from ..._enum import OpenEnum


class ManifestSpeechSource(OpenEnum):
    AUDIO = "audio"
    NONE = "none"
    PAGE = "page"
    PAGE_AND_AUDIO = "page_and_audio"
