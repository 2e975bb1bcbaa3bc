from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.intake_result_kind import IntakeResultKind
from ..types import UNSET, Unset

T = TypeVar("T", bound="IntakeResult")


@_attrs_define
class IntakeResult:
    """The result of an invite.

    Attributes:
        kind (IntakeResultKind): The result.
        job_id (UUID): The ID of the job.
        consumer_id (str | Unset): The ID of the consumer that owns the job.
        dismissed (bool | Unset): Whether the consumer has cancelled the job, so that the meeting gets no bot. Omitted
            if not.
    """

    kind: IntakeResultKind
    job_id: UUID
    consumer_id: str | Unset = UNSET
    dismissed: bool | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        kind = self.kind.value

        job_id = str(self.job_id)

        consumer_id = self.consumer_id

        dismissed = self.dismissed

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "kind": kind,
                "jobId": job_id,
            }
        )
        if consumer_id is not UNSET:
            field_dict["consumerId"] = consumer_id
        if dismissed is not UNSET:
            field_dict["dismissed"] = dismissed

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        kind = IntakeResultKind(d.pop("kind"))

        job_id = UUID(d.pop("jobId"))

        consumer_id = d.pop("consumerId", UNSET)

        dismissed = d.pop("dismissed", UNSET)

        intake_result = cls(
            kind=kind,
            job_id=job_id,
            consumer_id=consumer_id,
            dismissed=dismissed,
        )

        intake_result.additional_properties = d
        return intake_result

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
