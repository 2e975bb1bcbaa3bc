from ..._enum import OpenEnum


class LiveCommandType(OpenEnum):
    COMMAND = "command"
