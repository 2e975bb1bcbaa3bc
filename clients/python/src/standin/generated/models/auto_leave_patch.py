from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.auto_leave_patch_among_bots import AutoLeavePatchAmongBots
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
        among_bots (AutoLeavePatchAmongBots | Unset): Whether the bot leaves when only bots have been left with it for
            `afterSoloSeconds`, whatever they play: `leave` (the
            default) for notetakers that are known by their names and bots with its own or the default name, `leaveSilent`
            also for
            participants who have not spoken since it joined, and `stay` never. Jobs show it if their request has it.
    """

    after_entry_delay_seconds: int | Unset = UNSET
    after_silence_seconds: int | Unset = UNSET
    after_solo_seconds: int | Unset = UNSET
    after_max_seconds: int | Unset = UNSET
    on_bot_detected: bool | Unset = UNSET
    among_bots: AutoLeavePatchAmongBots | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        after_entry_delay_seconds = self.after_entry_delay_seconds

        after_silence_seconds = self.after_silence_seconds

        after_solo_seconds = self.after_solo_seconds

        after_max_seconds = self.after_max_seconds

        on_bot_detected = self.on_bot_detected

        among_bots: str | Unset = UNSET
        if not isinstance(self.among_bots, Unset):
            among_bots = self.among_bots.value

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
        if among_bots is not UNSET:
            field_dict["amongBots"] = among_bots

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        after_entry_delay_seconds = d.pop("afterEntryDelaySeconds", UNSET)

        after_silence_seconds = d.pop("afterSilenceSeconds", UNSET)

        after_solo_seconds = d.pop("afterSoloSeconds", UNSET)

        after_max_seconds = d.pop("afterMaxSeconds", UNSET)

        on_bot_detected = d.pop("onBotDetected", UNSET)

        _among_bots = d.pop("amongBots", UNSET)
        among_bots: AutoLeavePatchAmongBots | Unset
        if isinstance(_among_bots, Unset):
            among_bots = UNSET
        else:
            among_bots = AutoLeavePatchAmongBots(_among_bots)

        auto_leave_patch = cls(
            after_entry_delay_seconds=after_entry_delay_seconds,
            after_silence_seconds=after_silence_seconds,
            after_solo_seconds=after_solo_seconds,
            after_max_seconds=after_max_seconds,
            on_bot_detected=on_bot_detected,
            among_bots=among_bots,
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
