from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="WebhookEndpointPatch")


@_attrs_define
class WebhookEndpointPatch:
    """Changes to a registered endpoint. Fields that are not set do not change.

    Attributes:
        events (list[str] | Unset): What to send. A meeting can cause many `participant.*`, `chat.message` and
            `transcript.data` events.
        description (str | Unset): What the endpoint is for.
        enabled (bool | Unset): Whether events are sent to it.
        id (Any | Unset): Cannot be changed.
        url (Any | Unset): Cannot be changed.
        created_at (Any | Unset): Cannot be changed.
    """

    events: list[str] | Unset = UNSET
    description: str | Unset = UNSET
    enabled: bool | Unset = UNSET
    id: Any | Unset = UNSET
    url: Any | Unset = UNSET
    created_at: Any | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        events: list[str] | Unset = UNSET
        if not isinstance(self.events, Unset):
            events = self.events

        description = self.description

        enabled = self.enabled

        id = self.id

        url = self.url

        created_at = self.created_at

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({})
        if events is not UNSET:
            field_dict["events"] = events
        if description is not UNSET:
            field_dict["description"] = description
        if enabled is not UNSET:
            field_dict["enabled"] = enabled
        if id is not UNSET:
            field_dict["id"] = id
        if url is not UNSET:
            field_dict["url"] = url
        if created_at is not UNSET:
            field_dict["createdAt"] = created_at

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        events = cast(list[str], d.pop("events", UNSET))

        description = d.pop("description", UNSET)

        enabled = d.pop("enabled", UNSET)

        id = d.pop("id", UNSET)

        url = d.pop("url", UNSET)

        created_at = d.pop("createdAt", UNSET)

        webhook_endpoint_patch = cls(
            events=events,
            description=description,
            enabled=enabled,
            id=id,
            url=url,
            created_at=created_at,
        )

        webhook_endpoint_patch.additional_properties = d
        return webhook_endpoint_patch

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
