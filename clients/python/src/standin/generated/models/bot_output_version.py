from ..._enum import OpenIntEnum


class BotOutputVersion(OpenIntEnum):
    VALUE_1 = 1
    VALUE_2 = 2
