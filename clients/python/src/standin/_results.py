"""What the synchronous and the asynchronous client share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

import attrs
import httpx

from .errors import UnexpectedResponseError
from .generated.api.control import (
    leave_call,
    pause_recording,
    request_recording_permission,
    resume_recording,
    stop_output,
    stop_recording,
)
from .generated.errors import UnexpectedStatus
from .generated.models import Job, JobStatus
from .generated.types import Response

T = TypeVar("T")

Command = Literal[
    "request-recording-permission", "pause-recording", "resume-recording", "stop-recording", "leave-call", "stop-output"
]
"""The commands without arguments."""

COMMANDS: dict[str, Any] = {
    "request-recording-permission": request_recording_permission,
    "pause-recording": pause_recording,
    "resume-recording": resume_recording,
    "stop-recording": stop_recording,
    "leave-call": leave_call,
    "stop-output": stop_output,
}

FINAL = frozenset({JobStatus.COMPLETED, JobStatus.FAILED, JobStatus.CANCELLED})
"""The statuses of a job that has ended."""


@dataclass(frozen=True)
class Page(Generic[T]):
    """A page of a list."""

    items: list[T]
    next_cursor: str | None
    """The `cursor` of the next page, or None after the last one."""


@attrs.define
class CreatedJob(Job):
    """A job as the response to a request for it."""

    replayed: bool = False
    """Whether the job existed before: another request had the same externalId, or was for the same meeting."""
    warnings: tuple[str, ...] = ()
    """What of the request will probably not work, for example a link that leads to no meeting."""

    @classmethod
    def of(cls, response: Response[Any]) -> CreatedJob:
        job = parsed(response, Job)
        created = cls(**{field.name: getattr(job, field.name) for field in attrs.fields(Job) if field.init})
        created.additional_properties = job.additional_properties
        headers = httpx.Headers(response.headers)
        created.replayed = headers.get("idempotent-replayed") == "true"
        created.warnings = tuple(headers.get_list("x-standin-warning"))
        return created


@contextmanager
def unexpected_responses() -> Iterator[None]:
    """Turns what fails while a successful response is decoded into an error of this package."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError, UnexpectedStatus) as error:
        raise UnexpectedResponseError(f"the service responded with an unexpected body: {error!r}") from error


def parsed(response: Response[Any], kind: type[T]) -> T:
    """Returns the decoded body of a successful response."""
    if not isinstance(response.parsed, kind):
        raise UnexpectedResponseError(f"the service responded with {int(response.status_code)} and an unexpected body")
    return response.parsed
