from enum import Enum


class OutputFailure(str, Enum):
    DEVICE_REFUSED = "device_refused"
    INTERRUPTED = "interrupted"
    NO_DEVICE = "no_device"
    STOPPED_BY_HOST = "stopped_by_host"
    UNAVAILABLE = "unavailable"

    def __str__(self) -> str:
        return str(self.value)
