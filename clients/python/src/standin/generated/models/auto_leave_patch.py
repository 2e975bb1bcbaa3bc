from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="AutoLeavePatch")


@_attrs_define
class AutoLeavePatch:
    """Changes to single settings, with the same bounds as for a new job.

    Attributes:
        after_entry_delay_seconds (int | Unset): Leave if not admitted within this many seconds of asking to join.
        after_silence_seconds (int | Unset): Leave if there was no sound for this many seconds.
        after_solo_seconds (int | Unset): Leave if the bot was the only participant for this many seconds.
        after_max_seconds (int | Unset): Leave after this many seconds in the meeting.
        on_bot_detected (bool | Unset): Leave immediately when a known competing notetaker is in the roster.
        only_notetakers_seconds (int | Unset): Leave when only notetakers have been left for this many seconds, whatever
            they play: bots that are known by their
            names, and bots with the own or the default name. Default: 60. Jobs show it if their request has it.
        silent_are_notetakers (bool | Unset): Whether participants who have not spoken since the bot joined count as
            notetakers. Default: false. Jobs show it if it
            is true.
    """

    after_entry_delay_seconds: int | Unset = UNSET
    after_silence_seconds: int | Unset = UNSET
    after_solo_seconds: int | Unset = UNSET
    after_max_seconds: int | Unset = UNSET
    on_bot_detected: bool | Unset = UNSET
    only_notetakers_seconds: int | Unset = UNSET
    silent_are_notetakers: bool | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        after_entry_delay_seconds = self.after_entry_delay_seconds

        after_silence_seconds = self.after_silence_seconds

        after_solo_seconds = self.after_solo_seconds

        after_max_seconds = self.after_max_seconds

        on_bot_detected = self.on_bot_detected

        only_notetakers_seconds = self.only_notetakers_seconds

        silent_are_notetakers = self.silent_are_notetakers

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({})
        if after_entry_delay_seconds is not UNSET:
            field_dict["afterEntryDelaySeconds"] = after_entry_delay_seconds
        if after_silence_seconds is not UNSET:
            field_dict["afterSilenceSeconds"] = after_silence_seconds
        if after_solo_seconds is not UNSET:
            field_dict["afterSoloSeconds"] = after_solo_seconds
        if after_max_seconds is not UNSET:
            field_dict["afterMaxSeconds"] = after_max_seconds
        if on_bot_detected is not UNSET:
            field_dict["onBotDetected"] = on_bot_detected
        if only_notetakers_seconds is not UNSET:
            field_dict["onlyNotetakersSeconds"] = only_notetakers_seconds
        if silent_are_notetakers is not UNSET:
            field_dict["silentAreNotetakers"] = silent_are_notetakers

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        after_entry_delay_seconds = d.pop("afterEntryDelaySeconds", UNSET)

        after_silence_seconds = d.pop("afterSilenceSeconds", UNSET)

        after_solo_seconds = d.pop("afterSoloSeconds", UNSET)

        after_max_seconds = d.pop("afterMaxSeconds", UNSET)

        on_bot_detected = d.pop("onBotDetected", UNSET)

        only_notetakers_seconds = d.pop("onlyNotetakersSeconds", UNSET)

        silent_are_notetakers = d.pop("silentAreNotetakers", UNSET)

        auto_leave_patch = cls(
            after_entry_delay_seconds=after_entry_delay_seconds,
            after_silence_seconds=after_silence_seconds,
            after_solo_seconds=after_solo_seconds,
            after_max_seconds=after_max_seconds,
            on_bot_detected=on_bot_detected,
            only_notetakers_seconds=only_notetakers_seconds,
            silent_are_notetakers=silent_are_notetakers,
        )

        auto_leave_patch.additional_properties = d
        return auto_leave_patch

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
