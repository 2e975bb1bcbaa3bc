from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.calendar import Calendar


T = TypeVar("T", bound="CalendarSync")


@_attrs_define
class CalendarSync:
    """The result of reading a calendar.

    Attributes:
        added (int): The number of new meetings.
        updated (int): The number of changed meetings.
        removed (int): The number of meetings that the calendar no longer has.
        calendar (Calendar): A connected calendar.
    """

    added: int
    updated: int
    removed: int
    calendar: Calendar
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        added = self.added

        updated = self.updated

        removed = self.removed

        calendar = self.calendar.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "added": added,
                "updated": updated,
                "removed": removed,
                "calendar": calendar,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.calendar import Calendar

        d = dict(src_dict)
        added = d.pop("added")

        updated = d.pop("updated")

        removed = d.pop("removed")

        calendar = Calendar.from_dict(d.pop("calendar"))

        calendar_sync = cls(
            added=added,
            updated=updated,
            removed=removed,
            calendar=calendar,
        )

        calendar_sync.additional_properties = d
        return calendar_sync

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
