from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.live_speaking_type import LiveSpeakingType

T = TypeVar("T", bound="LiveSpeaking")


@_attrs_define
class LiveSpeaking:
    """The participants who are speaking.

    Attributes:
        type_ (LiveSpeakingType): The kind of the event.
        participant_ids (list[str]): The IDs of the participants.
    """

    type_: LiveSpeakingType
    participant_ids: list[str]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        type_ = self.type_.value

        participant_ids = self.participant_ids

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "type": type_,
                "participantIds": participant_ids,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        type_ = LiveSpeakingType(d.pop("type"))

        participant_ids = cast(list[str], d.pop("participantIds"))

        live_speaking = cls(
            type_=type_,
            participant_ids=participant_ids,
        )

        live_speaking.additional_properties = d
        return live_speaking

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
