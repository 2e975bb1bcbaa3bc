from ..._enum import OpenEnum


class LiveOutputType(OpenEnum):
    OUTPUT = "output"
