from ..._enum import OpenEnum


class LiveEndType(OpenEnum):
    END = "end"
