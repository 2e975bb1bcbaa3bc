from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="HeartbeatStatsRosterParticipantsItem")


@_attrs_define
class HeartbeatStatsRosterParticipantsItem:
    """A participant.

    Attributes:
        id (str): The ID in the roster of the bot's attempt.
        name (str): The name on the page.
        speaking (bool | Unset): Whether the participant is speaking. Default: false.
    """

    id: str
    name: str
    speaking: bool | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        name = self.name

        speaking = self.speaking

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "name": name,
            }
        )
        if speaking is not UNSET:
            field_dict["speaking"] = speaking

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = d.pop("id")

        name = d.pop("name")

        speaking = d.pop("speaking", UNSET)

        heartbeat_stats_roster_participants_item = cls(
            id=id,
            name=name,
            speaking=speaking,
        )

        heartbeat_stats_roster_participants_item.additional_properties = d
        return heartbeat_stats_roster_participants_item

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
