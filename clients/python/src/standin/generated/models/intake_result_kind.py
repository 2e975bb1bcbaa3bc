from enum import Enum


class IntakeResultKind(str, Enum):
    DEDUPED = "deduped"
    FREE_TIER_EXHAUSTED = "free_tier_exhausted"
    SCHEDULED = "scheduled"

    def __str__(self) -> str:
        return str(self.value)
