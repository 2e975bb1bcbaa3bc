from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.live_event_event import LiveEventEvent
from ..types import UNSET, Unset

T = TypeVar("T", bound="LiveEvent")


@_attrs_define
class LiveEvent:
    """A server-sent event of a live stream.

    Attributes:
        event (LiveEventEvent): The kind of the event.
        data (str): JSON: a `LiveState`, `LiveCommand`, `LiveOutput`, `LiveStream`, `LiveParticipants`, `LiveSpeaking`,
            `LiveText` (of `caption` and
            `chat`), `LiveTranscript` or `LiveEnd`.
        id (str | Unset): The position after the event, for `Last-Event-ID`. `participants` and `speaking` have none.
    """

    event: LiveEventEvent
    data: str
    id: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        event = self.event.value

        data = self.data

        id = self.id

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "event": event,
                "data": data,
            }
        )
        if id is not UNSET:
            field_dict["id"] = id

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        event = LiveEventEvent(d.pop("event"))

        data = d.pop("data")

        id = d.pop("id", UNSET)

        live_event = cls(
            event=event,
            data=data,
            id=id,
        )

        live_event.additional_properties = d
        return live_event

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
