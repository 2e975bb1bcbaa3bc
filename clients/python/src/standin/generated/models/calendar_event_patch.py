from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="CalendarEventPatch")


@_attrs_define
class CalendarEventPatch:
    """A decision about a meeting.

    Attributes:
        override (bool | None): `true` for a bot, `false` for none, and null to let the rules decide.
    """

    override: bool | None
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        override: bool | None
        override = self.override

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "override": override,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_override(data: object) -> bool | None:
            if data is None:
                return data
            return cast(bool | None, data)

        override = _parse_override(d.pop("override"))

        calendar_event_patch = cls(
            override=override,
        )

        calendar_event_patch.additional_properties = d
        return calendar_event_patch

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
