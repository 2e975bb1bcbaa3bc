from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="JobWebhooks")


@_attrs_define
class JobWebhooks:
    """The URLs that receive the events of the job. If null, the default URL of the consumer receives them.

    Attributes:
        on_status_change (None | str): Receives `job.status_changed`, `job.failed` and the `bot.*` events.
        on_finalize (None | str): Receives `job.finalized` and `job.failed`.
    """

    on_status_change: None | str
    on_finalize: None | str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        on_status_change: None | str
        on_status_change = self.on_status_change

        on_finalize: None | str
        on_finalize = self.on_finalize

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "onStatusChange": on_status_change,
                "onFinalize": on_finalize,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_on_status_change(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        on_status_change = _parse_on_status_change(d.pop("onStatusChange"))

        def _parse_on_finalize(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        on_finalize = _parse_on_finalize(d.pop("onFinalize"))

        job_webhooks = cls(
            on_status_change=on_status_change,
            on_finalize=on_finalize,
        )

        job_webhooks.additional_properties = d
        return job_webhooks

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
