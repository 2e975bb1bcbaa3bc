from enum import Enum


class SimulationPermission(str, Enum):
    DENIED = "denied"
    GRANTED = "granted"
    TIMEOUT = "timeout"

    def __str__(self) -> str:
        return str(self.value)
