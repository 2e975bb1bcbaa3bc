from ..._enum import OpenIntEnum


class RecordingPermissionResponseVersion(OpenIntEnum):
    VALUE_1 = 1
    VALUE_2 = 2
