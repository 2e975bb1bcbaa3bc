from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.calendar_event_changed_data_event import CalendarEventChangedDataEvent
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.webhook_meeting import WebhookMeeting


T = TypeVar("T", bound="CalendarEventChangedData")


@_attrs_define
class CalendarEventChangedData:
    """What happened.

    Attributes:
        event (CalendarEventChangedDataEvent): The name of the event.
        meeting (WebhookMeeting): A meeting of a connected calendar.
        sequence (int | Unset): The number of the event within your team.
    """

    event: CalendarEventChangedDataEvent
    meeting: WebhookMeeting
    sequence: int | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        event = self.event.value

        meeting = self.meeting.to_dict()

        sequence = self.sequence

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "event": event,
                "meeting": meeting,
            }
        )
        if sequence is not UNSET:
            field_dict["sequence"] = sequence

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.webhook_meeting import WebhookMeeting

        d = dict(src_dict)
        event = CalendarEventChangedDataEvent(d.pop("event"))

        meeting = WebhookMeeting.from_dict(d.pop("meeting"))

        sequence = d.pop("sequence", UNSET)

        calendar_event_changed_data = cls(
            event=event,
            meeting=meeting,
            sequence=sequence,
        )

        calendar_event_changed_data.additional_properties = d
        return calendar_event_changed_data

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
