from ..._enum import OpenEnum


class IntakeResultKind(OpenEnum):
    DEDUPED = "deduped"
    FREE_TIER_EXHAUSTED = "free_tier_exhausted"
    SCHEDULED = "scheduled"
