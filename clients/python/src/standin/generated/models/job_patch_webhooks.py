from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="JobPatchWebhooks")


@_attrs_define
class JobPatchWebhooks:
    """Changes to single URLs. null removes a URL.

    Attributes:
        on_status_change (None | str | Unset): Replaces the URL.
        on_finalize (None | str | Unset): Replaces the URL.
    """

    on_status_change: None | str | Unset = UNSET
    on_finalize: None | str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        on_status_change: None | str | Unset
        if isinstance(self.on_status_change, Unset):
            on_status_change = UNSET
        else:
            on_status_change = self.on_status_change

        on_finalize: None | str | Unset
        if isinstance(self.on_finalize, Unset):
            on_finalize = UNSET
        else:
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

        def _parse_on_status_change(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        on_status_change = _parse_on_status_change(d.pop("onStatusChange", UNSET))

        def _parse_on_finalize(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        on_finalize = _parse_on_finalize(d.pop("onFinalize", UNSET))

        job_patch_webhooks = cls(
            on_status_change=on_status_change,
            on_finalize=on_finalize,
        )

        job_patch_webhooks.additional_properties = d
        return job_patch_webhooks

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
