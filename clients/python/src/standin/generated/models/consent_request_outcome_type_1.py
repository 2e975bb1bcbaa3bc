from ..._enum import OpenEnum


class ConsentRequestOutcomeType1(OpenEnum):
    DENIED = "denied"
    GRANTED = "granted"
    TIMEOUT = "timeout"
