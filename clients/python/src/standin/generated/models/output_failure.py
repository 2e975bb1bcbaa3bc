from enum import Enum


class OutputFailure(str, Enum):
    INTERRUPTED = "interrupted"
    MICROPHONE_REFUSED = "microphone_refused"
    MUTED_BY_HOST = "muted_by_host"
    NO_MICROPHONE = "no_microphone"
    UNAVAILABLE = "unavailable"

    def __str__(self) -> str:
        return str(self.value)
