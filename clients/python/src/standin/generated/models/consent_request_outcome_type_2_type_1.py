from ..._enum import OpenEnum


class ConsentRequestOutcomeType2Type1(OpenEnum):
    DENIED = "denied"
    GRANTED = "granted"
    TIMEOUT = "timeout"
