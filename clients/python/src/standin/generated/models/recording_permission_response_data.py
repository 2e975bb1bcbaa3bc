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

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.job import Job


T = TypeVar("T", bound="RecordingPermissionResponseData")


@_attrs_define
class RecordingPermissionResponseData:
    """The data of `bot.recording_permission_response`.

    Attributes:
        event (Literal['bot.recording_permission_response']): Always `bot.recording_permission_response`.
        job_id (UUID): The ID of the job.
        job (Job): A bot in a meeting. Every field is always present.
        granted (bool): Whether the host granted permission. False if the host did not respond.
        sequence (int | Unset): The number of the event within its job.
        detail (str | Unset): Details.
    """

    event: Literal["bot.recording_permission_response"]
    job_id: UUID
    job: Job
    granted: bool
    sequence: int | Unset = UNSET
    detail: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        event = self.event

        job_id = str(self.job_id)

        job = self.job.to_dict()

        granted = self.granted

        sequence = self.sequence

        detail = self.detail

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "event": event,
                "jobId": job_id,
                "job": job,
                "granted": granted,
            }
        )
        if sequence is not UNSET:
            field_dict["sequence"] = sequence
        if detail is not UNSET:
            field_dict["detail"] = detail

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.job import Job

        d = dict(src_dict)
        event = cast(Literal["bot.recording_permission_response"], d.pop("event"))

        job_id = UUID(d.pop("jobId"))

        job = Job.from_dict(d.pop("job"))

        granted = d.pop("granted")

        sequence = d.pop("sequence", UNSET)

        detail = d.pop("detail", UNSET)

        recording_permission_response_data = cls(
            event=event,
            job_id=job_id,
            job=job,
            granted=granted,
            sequence=sequence,
            detail=detail,
        )

        recording_permission_response_data.additional_properties = d
        return recording_permission_response_data

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
