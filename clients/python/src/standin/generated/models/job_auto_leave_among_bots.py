from enum import Enum


class JobAutoLeaveAmongBots(str, Enum):
    LEAVE = "leave"
    LEAVESILENT = "leaveSilent"
    STAY = "stay"

    def __str__(self) -> str:
        return str(self.value)
