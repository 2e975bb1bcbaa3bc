"""What the synchronous and the asynchronous client share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeVar
from uuid import UUID

from .errors import StandinError
from .generated.api.control import (
    leave_call,
    pause_recording,
    request_recording_permission,
    resume_recording,
    stop_output,
    stop_recording,
)
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
class CreatedJob:
    """The result of a request to create a job."""

    job: Job
    replayed: bool
    """Whether the job existed before: another request had the same externalId, or was for the same meeting."""
    warnings: tuple[str, ...]
    """What of the request will probably not work, for example a link that leads to no meeting."""


def parsed(response: Response[Any], kind: type[T]) -> T:
    """Returns the decoded body of a successful response."""
    if not isinstance(response.parsed, kind):
        raise StandinError(f"the service responded with {int(response.status_code)} and an unexpected body")
    return response.parsed


def as_id(value: UUID | str) -> UUID:
    """Returns the ID of a job. Another text could change the path of the request."""
    return value if isinstance(value, UUID) else UUID(value)
