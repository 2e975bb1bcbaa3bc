from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.zoom_event_payload import ZoomEventPayload


T = TypeVar("T", bound="ZoomEvent")


@_attrs_define
class ZoomEvent:
    """An event of Zoom.

    Attributes:
        event (str): Its name.
        payload (ZoomEventPayload | Unset): What happened.
    """

    event: str
    payload: ZoomEventPayload | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        event = self.event

        payload: dict[str, Any] | Unset = UNSET
        if not isinstance(self.payload, Unset):
            payload = self.payload.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "event": event,
            }
        )
        if payload is not UNSET:
            field_dict["payload"] = payload

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.zoom_event_payload import ZoomEventPayload

        d = dict(src_dict)
        event = d.pop("event")

        _payload = d.pop("payload", UNSET)
        payload: ZoomEventPayload | Unset
        if isinstance(_payload, Unset):
            payload = UNSET
        else:
            payload = ZoomEventPayload.from_dict(_payload)

        zoom_event = cls(
            event=event,
            payload=payload,
        )

        zoom_event.additional_properties = d
        return zoom_event

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
