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
from ..models.job_status import JobStatus
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.job import Job


T = TypeVar("T", bound="JobStatusChangedData")


@_attrs_define
class JobStatusChangedData:
    """The data of `job.status_changed`.

    Attributes:
        event (Literal['job.status_changed']): Always `job.status_changed`.
        job_id (UUID): The ID of the job.
        job (Job): A bot in a meeting. Every field is always present.
        from_ (JobStatus): The status of a job. `completed`, `failed` and `cancelled` are final.
        to (JobStatus): The status of a job. `completed`, `failed` and `cancelled` are final.
        sequence (int | Unset): The number of the event within its job.
        failure_code (FailureCode | None | Unset): Why the job failed, or null unless the new status is `failed`.
        failure_detail (None | str | Unset): A human-readable explanation of the failure, or null.
        failure_reason (None | str | Unset): The name of `failure_detail` in version 1.
    """

    event: Literal["job.status_changed"]
    job_id: UUID
    job: Job
    from_: JobStatus
    to: JobStatus
    sequence: int | Unset = UNSET
    failure_code: FailureCode | None | Unset = UNSET
    failure_detail: None | str | Unset = UNSET
    failure_reason: None | str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        event = self.event

        job_id = str(self.job_id)

        job = self.job.to_dict()

        from_ = self.from_.value

        to = self.to.value

        sequence = self.sequence

        failure_code: None | str | Unset
        if isinstance(self.failure_code, Unset):
            failure_code = UNSET
        elif isinstance(self.failure_code, FailureCode):
            failure_code = self.failure_code.value
        else:
            failure_code = self.failure_code

        failure_detail: None | str | Unset
        if isinstance(self.failure_detail, Unset):
            failure_detail = UNSET
        else:
            failure_detail = self.failure_detail

        failure_reason: None | str | Unset
        if isinstance(self.failure_reason, Unset):
            failure_reason = UNSET
        else:
            failure_reason = self.failure_reason

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "event": event,
                "jobId": job_id,
                "job": job,
                "from": from_,
                "to": to,
            }
        )
        if sequence is not UNSET:
            field_dict["sequence"] = sequence
        if failure_code is not UNSET:
            field_dict["failure_code"] = failure_code
        if failure_detail is not UNSET:
            field_dict["failure_detail"] = failure_detail
        if failure_reason is not UNSET:
            field_dict["failure_reason"] = failure_reason

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.job import Job

        d = dict(src_dict)
        event = cast(Literal["job.status_changed"], d.pop("event"))

        job_id = UUID(d.pop("jobId"))

        job = Job.from_dict(d.pop("job"))

        from_ = JobStatus(d.pop("from"))

        to = JobStatus(d.pop("to"))

        sequence = d.pop("sequence", UNSET)

        def _parse_failure_code(data: object) -> FailureCode | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                failure_code_type_0 = FailureCode(data)

                return failure_code_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(FailureCode | None | Unset, data)

        failure_code = _parse_failure_code(d.pop("failure_code", UNSET))

        def _parse_failure_detail(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        failure_detail = _parse_failure_detail(d.pop("failure_detail", UNSET))

        def _parse_failure_reason(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        failure_reason = _parse_failure_reason(d.pop("failure_reason", UNSET))

        job_status_changed_data = cls(
            event=event,
            job_id=job_id,
            job=job,
            from_=from_,
            to=to,
            sequence=sequence,
            failure_code=failure_code,
            failure_detail=failure_detail,
            failure_reason=failure_reason,
        )

        job_status_changed_data.additional_properties = d
        return job_status_changed_data

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
