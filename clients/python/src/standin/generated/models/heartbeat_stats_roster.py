from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.heartbeat_stats_roster_participants_item import (
        HeartbeatStatsRosterParticipantsItem,
    )


T = TypeVar("T", bound="HeartbeatStatsRoster")


@_attrs_define
class HeartbeatStatsRoster:
    """The participants of the meeting. Omitted before the bot has joined.

    Attributes:
        participants (list[HeartbeatStatsRosterParticipantsItem]): The participants, in the order of joining.
    """

    participants: list[HeartbeatStatsRosterParticipantsItem]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        participants = []
        for participants_item_data in self.participants:
            participants_item = participants_item_data.to_dict()
            participants.append(participants_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "participants": participants,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.heartbeat_stats_roster_participants_item import (
            HeartbeatStatsRosterParticipantsItem,
        )

        d = dict(src_dict)
        participants = []
        _participants = d.pop("participants")
        for participants_item_data in _participants:
            participants_item = HeartbeatStatsRosterParticipantsItem.from_dict(participants_item_data)

            participants.append(participants_item)

        heartbeat_stats_roster = cls(
            participants=participants,
        )

        heartbeat_stats_roster.additional_properties = d
        return heartbeat_stats_roster

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
