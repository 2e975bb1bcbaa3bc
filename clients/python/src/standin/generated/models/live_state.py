from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from dateutil.parser import isoparse

from ..models.job_status import JobStatus
from ..models.live_state_type import LiveStateType

T = TypeVar("T", bound="LiveState")


@_attrs_define
class LiveState:
    """A change of the status.

    Attributes:
        type_ (LiveStateType): The kind of the event.
        status (JobStatus): The status of a job. `completed`, `failed` and `cancelled` are final.
        previous (JobStatus): The status of a job. `completed`, `failed` and `cancelled` are final.
        at (datetime.datetime): When the status changed.
    """

    type_: LiveStateType
    status: JobStatus
    previous: JobStatus
    at: datetime.datetime
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        type_ = self.type_.value

        status = self.status.value

        previous = self.previous.value

        at = self.at.isoformat()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "type": type_,
                "status": status,
                "previous": previous,
                "at": at,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        type_ = LiveStateType(d.pop("type"))

        status = JobStatus(d.pop("status"))

        previous = JobStatus(d.pop("previous"))

        at = isoparse(d.pop("at"))

        live_state = cls(
            type_=type_,
            status=status,
            previous=previous,
            at=at,
        )

        live_state.additional_properties = d
        return live_state

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
