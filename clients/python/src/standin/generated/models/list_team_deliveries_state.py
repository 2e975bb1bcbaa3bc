from enum import Enum


class ListTeamDeliveriesState(str, Enum):
    DELIVERED = "delivered"
    FAILED = "failed"
    WAITING = "waiting"

    def __str__(self) -> str:
        return str(self.value)
