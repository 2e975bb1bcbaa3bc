"""Which requests are repeated, and when."""

from __future__ import annotations

import random
from uuid import uuid4

import httpx

from .errors import retry_after_of

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 8.0
LONGEST_RETRY_AFTER = 60.0


def backoff(attempt: int) -> float:
    """Returns a pause that doubles with each attempt. Half of it is random, so that many clients do not return at
    the same moment."""
    pause = min(FIRST_PAUSE * 2.0 ** min(attempt, 10), LONGEST_PAUSE)
    return pause / 2 + random.uniform(0, pause / 2)


def pause_before_retry(response: httpx.Response | None, attempt: int) -> float | None:
    """Returns the pause before the request is sent again, or None if that does not help: after a 408, a 429, a status
    from 500 on or without a response it does."""
    pause = backoff(attempt)
    if response is not None:
        if response.status_code < 500 and response.status_code not in (408, 429):
            return None
        if response.status_code in (429, 503):
            pause = retry_after_of(response) or pause
    return pause if pause <= LONGEST_RETRY_AFTER else None


def make_idempotent(request: httpx.Request) -> None:
    """Adds an Idempotency-Key to a POST, so that the service executes it once. Those that create jobs need none: they
    have an externalId."""
    if request.method == "POST" and not request.url.path.endswith(("/api/v1/jobs", "/api/v1/jobs/batch")):
        request.headers.setdefault("Idempotency-Key", uuid4().hex)
