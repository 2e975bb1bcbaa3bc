from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.live_participants_type import LiveParticipantsType

if TYPE_CHECKING:
    from ..models.live_participant import LiveParticipant


T = TypeVar("T", bound="LiveParticipants")


@_attrs_define
class LiveParticipants:
    """Everyone in the meeting except the bot.

    Attributes:
        type_ (LiveParticipantsType): The kind of the event.
        participants (list[LiveParticipant]): The participants.
    """

    type_: LiveParticipantsType
    participants: list[LiveParticipant]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        type_ = self.type_.value

        participants = []
        for participants_item_data in self.participants:
            participants_item = participants_item_data.to_dict()
            participants.append(participants_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "type": type_,
                "participants": participants,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.live_participant import LiveParticipant

        d = dict(src_dict)
        type_ = LiveParticipantsType(d.pop("type"))

        participants = []
        _participants = d.pop("participants")
        for participants_item_data in _participants:
            participants_item = LiveParticipant.from_dict(participants_item_data)

            participants.append(participants_item)

        live_participants = cls(
            type_=type_,
            participants=participants,
        )

        live_participants.additional_properties = d
        return live_participants

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
