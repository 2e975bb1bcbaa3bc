"""Which requests are repeated, and when."""

from __future__ import annotations

import random

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


def pause_before_retry(request: httpx.Request, response: httpx.Response | None, attempt: int) -> float | None:
    """Returns the pause before the request is sent again, or None if that does not help.

    After a 429 or 503 nothing was done, so every request is repeated. After a 408, another status from 500 on or
    without a response, only requests that are idempotent are. Creating a job is, by its externalId.
    """
    if response is not None:
        if response.status_code in (429, 503):
            pause = retry_after_of(response) or backoff(attempt)
            return pause if pause <= LONGEST_RETRY_AFTER else None
        if response.status_code < 500 and response.status_code != 408:
            return None
    idempotent = request.method != "POST" or request.url.path.endswith(("/api/v1/jobs", "/api/v1/jobs/batch"))
    return backoff(attempt) if idempotent else None
