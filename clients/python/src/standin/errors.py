"""Errors of the client. All of them are a StandinError."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any

import httpx


class StandinError(Exception):
    """Base of all errors of this package."""


class APIConnectionError(StandinError):
    """The service could not be reached, or the connection was lost."""


class APITimeoutError(APIConnectionError):
    """The service did not respond in time."""


class UnexpectedResponseError(StandinError):
    """A response is not one of this API, for example the page of a proxy."""


class ChecksumError(StandinError):
    """A downloaded file does not have the size and SHA-256 of the manifest."""


class WebhookSignatureError(StandinError):
    """A webhook was not signed with the secret, or was signed too long ago."""


class WaitTimeoutError(StandinError, TimeoutError):
    """A job did not end in time."""


@dataclass(frozen=True)
class Issue:
    """An issue of an invalid request."""

    path: tuple[str | int, ...]
    """Field names, and numbers for places in arrays."""
    message: str
    code: str
    """The JSON Schema keyword that failed."""


@dataclass
class APIError(StandinError):
    """An error response of the service."""

    status: int
    """The HTTP status code."""
    code: str = ""
    """Stable, in snake_case. Empty if the response is not from the API, for example from a proxy."""
    message: str = ""
    issues: list[Issue] = field(default_factory=list)
    """All issues of an invalid request."""
    request_id: str = ""
    """Identifies the request in the log of the service."""
    retry_after: float | None = None
    """Seconds to wait before the next request, if the service told them."""

    def __str__(self) -> str:
        text = f"the service responded with {self.status} {self.code}".rstrip()
        if self.message:
            text += f": {self.message}"
        for issue in self.issues:
            text += f"; {'.'.join(map(str, issue.path)) or 'body'}: {issue.message}"
        if self.status >= 500 and self.request_id:
            text += f" (request {self.request_id})"
        return text


class InvalidInputError(APIError):
    """400: see `issues`."""


class UnauthorizedError(APIError):
    """401: the API key is missing, wrong or revoked."""


class ForbiddenError(APIError):
    """403: the scope of the API key does not include this operation."""


class NotFoundError(APIError):
    """404: it does not exist, or belongs to somebody else."""


class ConflictError(APIError):
    """409: not possible now."""


class InvalidStateError(ConflictError):
    """409 with the code `invalid_state`: not possible in this state of the job."""


class RateLimitedError(APIError):
    """429: see `retry_after`."""


class ServerError(APIError):
    """500 and above."""


_BY_STATUS: dict[int, type[APIError]] = {
    400: InvalidInputError,
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    429: RateLimitedError,
}


def error_of(response: httpx.Response) -> APIError:
    """Returns the error of a response that was read."""
    body: Any = None
    try:
        body = json.loads(response.content)
    except ValueError:  # for example the page of a proxy
        pass
    if not isinstance(body, dict):
        body = {}
    kind = _BY_STATUS.get(response.status_code, ServerError if response.status_code >= 500 else APIError)
    if kind is ConflictError and body.get("error") == "invalid_state":
        kind = InvalidStateError
    issues = body.get("issues")
    return kind(
        status=response.status_code,
        code=str(body.get("error") or ""),
        message=str(body.get("message") or ""),
        issues=[
            Issue(tuple(issue.get("path") or ()), str(issue.get("message") or ""), str(issue.get("code") or ""))
            for issue in (issues if isinstance(issues, list) else ())
            if isinstance(issue, dict)
        ],
        request_id=response.headers.get("x-request-id", ""),
        retry_after=retry_after_of(response),
    )


def retry_after_of(response: httpx.Response) -> float | None:
    """Returns the seconds of Retry-After, or until its date, or None."""
    value = response.headers.get("retry-after", "")
    if value.isascii() and value.isdigit() and len(value) < 10:
        return float(value)
    try:
        return max(parsedate_to_datetime(value).timestamp() - time.time(), 0.0)
    except (TypeError, ValueError):
        return None
