from ..._enum import OpenEnum


class OutputFailure(OpenEnum):
    DEVICE_REFUSED = "device_refused"
    INTERRUPTED = "interrupted"
    NO_DEVICE = "no_device"
    STOPPED_BY_HOST = "stopped_by_host"
    UNAVAILABLE = "unavailable"
