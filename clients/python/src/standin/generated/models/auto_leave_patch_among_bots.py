from enum import Enum


class AutoLeavePatchAmongBots(str, Enum):
    LEAVE = "leave"
    LEAVESILENT = "leaveSilent"
    STAY = "stay"

    def __str__(self) -> str:
        return str(self.value)
