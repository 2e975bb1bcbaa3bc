from __future__ import annotations

from collections.abc import Mapping
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    TypeVar,
    cast,
)
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.failure_code import FailureCode
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.job import Job


T = TypeVar("T", bound="JobFailedData")


@_attrs_define
class JobFailedData:
    """The data of `job.failed`.

    Attributes:
        event (Literal['job.failed']): Always `job.failed`.
        job_id (UUID): The ID of the job.
        job (Job): A bot in a meeting. Every field is always present.
        status (Literal['failed']): Always `failed`.
        failure_code (FailureCode): Why a job failed.
        failure_detail (str): A human-readable explanation of the failure.
        sequence (int | Unset): The number of the event within its job.
        failure_reason (str | Unset): The name of `failure_detail` in version 1.
        error (str | Unset): The name of `failure_detail` in version 1.
    """

    event: Literal["job.failed"]
    job_id: UUID
    job: Job
    status: Literal["failed"]
    failure_code: FailureCode
    failure_detail: str
    sequence: int | Unset = UNSET
    failure_reason: str | Unset = UNSET
    error: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        event = self.event

        job_id = str(self.job_id)

        job = self.job.to_dict()

        status = self.status

        failure_code = self.failure_code.value

        failure_detail = self.failure_detail

        sequence = self.sequence

        failure_reason = self.failure_reason

        error = self.error

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "event": event,
                "jobId": job_id,
                "job": job,
                "status": status,
                "failure_code": failure_code,
                "failure_detail": failure_detail,
            }
        )
        if sequence is not UNSET:
            field_dict["sequence"] = sequence
        if failure_reason is not UNSET:
            field_dict["failure_reason"] = failure_reason
        if error is not UNSET:
            field_dict["error"] = error

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.job import Job

        d = dict(src_dict)
        event = cast(Literal["job.failed"], d.pop("event"))

        job_id = UUID(d.pop("jobId"))

        job = Job.from_dict(d.pop("job"))

        status = cast(Literal["failed"], d.pop("status"))

        failure_code = FailureCode(d.pop("failure_code"))

        failure_detail = d.pop("failure_detail")

        sequence = d.pop("sequence", UNSET)

        failure_reason = d.pop("failure_reason", UNSET)

        error = d.pop("error", UNSET)

        job_failed_data = cls(
            event=event,
            job_id=job_id,
            job=job,
            status=status,
            failure_code=failure_code,
            failure_detail=failure_detail,
            sequence=sequence,
            failure_reason=failure_reason,
            error=error,
        )

        job_failed_data.additional_properties = d
        return job_failed_data

    @property
    def additional_keys(self) -> list[str]:
        return list(self.additional_properties.keys())

    def __getitem__(self, key: str) -> Any:
        return self.additional_properties[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.additional_properties[key] = value

    def __delitem__(self, key: str) -> None:
        del self.additional_properties[key]

    def __contains__(self, key: str) -> bool:
        return key in self.additional_properties
