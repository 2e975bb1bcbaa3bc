from ..._enum import OpenEnum


class DeliveryDetailsState(OpenEnum):
    DELIVERED = "delivered"
    FAILED = "failed"
    WAITING = "waiting"
