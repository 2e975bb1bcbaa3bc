from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="Webhooks")


@_attrs_define
class Webhooks:
    """The URLs that receive the events of this job.

    Attributes:
        on_status_change (str | Unset): Receives `job.status_changed`, `job.failed` and the `bot.*` events.
        on_finalize (str | Unset): Receives `job.finalized` and `job.failed`.
    """

    on_status_change: str | Unset = UNSET
    on_finalize: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        on_status_change = self.on_status_change

        on_finalize = self.on_finalize

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({})
        if on_status_change is not UNSET:
            field_dict["onStatusChange"] = on_status_change
        if on_finalize is not UNSET:
            field_dict["onFinalize"] = on_finalize

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        on_status_change = d.pop("onStatusChange", UNSET)

        on_finalize = d.pop("onFinalize", UNSET)

        webhooks = cls(
            on_status_change=on_status_change,
            on_finalize=on_finalize,
        )

        webhooks.additional_properties = d
        return webhooks

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
