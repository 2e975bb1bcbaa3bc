from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.job_status import JobStatus
from ..models.live_end_type import LiveEndType

T = TypeVar("T", bound="LiveEnd")


@_attrs_define
class LiveEnd:
    """The end of the stream.

    Attributes:
        type_ (LiveEndType): The kind of the event.
        status (JobStatus): The status of a job. `completed`, `failed` and `cancelled` are final.
    """

    type_: LiveEndType
    status: JobStatus
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        type_ = self.type_.value

        status = self.status.value

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "type": type_,
                "status": status,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        type_ = LiveEndType(d.pop("type"))

        status = JobStatus(d.pop("status"))

        live_end = cls(
            type_=type_,
            status=status,
        )

        live_end.additional_properties = d
        return live_end

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
