from enum import Enum


class DeliveryState(str, Enum):
    DELIVERED = "delivered"
    FAILED = "failed"
    WAITING = "waiting"

    def __str__(self) -> str:
        return str(self.value)
