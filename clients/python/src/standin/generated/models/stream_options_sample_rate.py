from ..._enum import OpenIntEnum


class StreamOptionsSampleRate(OpenIntEnum):
    VALUE_8000 = 8000
    VALUE_16000 = 16000
    VALUE_24000 = 24000
    VALUE_32000 = 32000
    VALUE_48000 = 48000
