from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="WebhookCalendar")


@_attrs_define
class WebhookCalendar:
    """A connected calendar.

    Attributes:
        calendar_id (UUID): The ID of the calendar.
        name (str): The display name.
        state (str): Its state, as in `GET /api/v1/calendars/{id}`.
        previous (str): The state before.
        error (None | str): Why it cannot be read, or why its account cannot be added to meetings; or null.
    """

    calendar_id: UUID
    name: str
    state: str
    previous: str
    error: None | str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        calendar_id = str(self.calendar_id)

        name = self.name

        state = self.state

        previous = self.previous

        error: None | str
        error = self.error

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "calendarId": calendar_id,
                "name": name,
                "state": state,
                "previous": previous,
                "error": error,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        calendar_id = UUID(d.pop("calendarId"))

        name = d.pop("name")

        state = d.pop("state")

        previous = d.pop("previous")

        def _parse_error(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        error = _parse_error(d.pop("error"))

        webhook_calendar = cls(
            calendar_id=calendar_id,
            name=name,
            state=state,
            previous=previous,
            error=error,
        )

        webhook_calendar.additional_properties = d
        return webhook_calendar

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
