from enum import Enum


class DeliveryDetailsState(str, Enum):
    DELIVERED = "delivered"
    FAILED = "failed"
    WAITING = "waiting"

    def __str__(self) -> str:
        return str(self.value)
