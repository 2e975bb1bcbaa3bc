from enum import Enum


class AutoLeaveConfigAmongBots(str, Enum):
    LEAVE = "leave"
    LEAVESILENT = "leaveSilent"
    STAY = "stay"

    def __str__(self) -> str:
        return str(self.value)
