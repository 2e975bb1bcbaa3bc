from ..._enum import OpenEnum


class AccountCondition(OpenEnum):
    IN_USE = "in_use"
    READY = "ready"
    RESTING = "resting"
    SIGNED_OUT = "signed_out"
