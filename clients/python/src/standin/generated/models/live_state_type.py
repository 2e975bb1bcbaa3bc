from ..._enum import OpenEnum


class LiveStateType(OpenEnum):
    STATE = "state"
