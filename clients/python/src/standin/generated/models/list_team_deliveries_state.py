from ..._enum import OpenEnum


class ListTeamDeliveriesState(OpenEnum):
    DELIVERED = "delivered"
    FAILED = "failed"
    WAITING = "waiting"
