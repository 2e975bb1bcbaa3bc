from ..._enum import OpenEnum


class ConsentRequestOutcomeType3Type1(OpenEnum):
    DENIED = "denied"
    GRANTED = "granted"
    TIMEOUT = "timeout"
