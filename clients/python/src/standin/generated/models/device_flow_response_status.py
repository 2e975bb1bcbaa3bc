from ..._enum import OpenEnum


class DeviceFlowResponseStatus(OpenEnum):
    COMPLETE = "complete"
    PENDING = "pending"
