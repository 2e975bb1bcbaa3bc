from ..._enum import OpenIntEnum


class ChatMessageWrittenVersion(OpenIntEnum):
    VALUE_1 = 1
    VALUE_2 = 2
