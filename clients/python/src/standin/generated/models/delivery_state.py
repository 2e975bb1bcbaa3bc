from ..._enum import OpenEnum


class DeliveryState(OpenEnum):
    DELIVERED = "delivered"
    FAILED = "failed"
    WAITING = "waiting"
