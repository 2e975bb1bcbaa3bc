from ..._enum import OpenEnum


class SimulationPermission(OpenEnum):
    DENIED = "denied"
    GRANTED = "granted"
    TIMEOUT = "timeout"
