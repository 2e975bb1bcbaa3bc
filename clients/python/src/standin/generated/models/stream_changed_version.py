from ..._enum import OpenIntEnum


class StreamChangedVersion(OpenIntEnum):
    VALUE_1 = 1
    VALUE_2 = 2
