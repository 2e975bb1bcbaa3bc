from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.calendar_rules_record_type_0_item import CalendarRulesRecordType0Item
from ..types import UNSET, Unset

T = TypeVar("T", bound="CalendarRules")


@_attrs_define
class CalendarRules:
    """Which meetings get a bot. All rules must be met. A meeting that the owner has declined gets none.

    Attributes:
        record (list[CalendarRulesRecordType0Item] | None | Unset): The conditions, which must all hold. `accepted`: the
            owner has accepted or organizes the meeting; `organized`:
            the owner organizes it; `external`: somebody's email address is of another organization than the owner's;
            `internal`: nobody's is; `public`: the meeting is not private; `none`: it is switched on; `all`: it may be any
            meeting. By default, or with null, `accepted` and `public`, or `public` alone while the email address of the
            owner is unknown.
        aliases (list[str] | Unset): Further email addresses of the owner.
        title_matches (str | Unset): A regular expression (RE2) that must match a part of the title, ignoring case.
            Empty for any title, which is the default.
        min_participants (int | Unset): The number of participants that a meeting needs, with the organizer and without
            those who declined. Default: 0.
        opt_out (str | Unset): A meeting with this text in its title or description gets no bot, ignoring case. Empty
            for none. Default: #nobot.
        invite (str | Unset): The address of an account that is added as a guest to the meetings of the next two days
            that get a bot and that the owner organizes. The access to the calendar must permit it (`calendar.events`,
            `Calendars.ReadWrite`). Default: none.
        tell_organizer (int | Unset): How many minutes before a meeting that gets a bot its organizer is told by mail,
            if the organizer has an address of the domain of a user of your team. Default: 0, never.
    """

    record: list[CalendarRulesRecordType0Item] | None | Unset = UNSET
    aliases: list[str] | Unset = UNSET
    title_matches: str | Unset = UNSET
    min_participants: int | Unset = UNSET
    opt_out: str | Unset = UNSET
    invite: str | Unset = UNSET
    tell_organizer: int | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        record: list[str] | None | Unset
        if isinstance(self.record, Unset):
            record = UNSET
        elif isinstance(self.record, list):
            record = []
            for record_type_0_item_data in self.record:
                record_type_0_item = record_type_0_item_data.value
                record.append(record_type_0_item)

        else:
            record = self.record

        aliases: list[str] | Unset = UNSET
        if not isinstance(self.aliases, Unset):
            aliases = self.aliases

        title_matches = self.title_matches

        min_participants = self.min_participants

        opt_out = self.opt_out

        invite = self.invite

        tell_organizer = self.tell_organizer

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({})
        if record is not UNSET:
            field_dict["record"] = record
        if aliases is not UNSET:
            field_dict["aliases"] = aliases
        if title_matches is not UNSET:
            field_dict["titleMatches"] = title_matches
        if min_participants is not UNSET:
            field_dict["minParticipants"] = min_participants
        if opt_out is not UNSET:
            field_dict["optOut"] = opt_out
        if invite is not UNSET:
            field_dict["invite"] = invite
        if tell_organizer is not UNSET:
            field_dict["tellOrganizer"] = tell_organizer

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_record(data: object) -> list[CalendarRulesRecordType0Item] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                record_type_0 = []
                _record_type_0 = data
                for record_type_0_item_data in _record_type_0:
                    record_type_0_item = CalendarRulesRecordType0Item(record_type_0_item_data)

                    record_type_0.append(record_type_0_item)

                return record_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[CalendarRulesRecordType0Item] | None | Unset, data)

        record = _parse_record(d.pop("record", UNSET))

        aliases = cast(list[str], d.pop("aliases", UNSET))

        title_matches = d.pop("titleMatches", UNSET)

        min_participants = d.pop("minParticipants", UNSET)

        opt_out = d.pop("optOut", UNSET)

        invite = d.pop("invite", UNSET)

        tell_organizer = d.pop("tellOrganizer", UNSET)

        calendar_rules = cls(
            record=record,
            aliases=aliases,
            title_matches=title_matches,
            min_participants=min_participants,
            opt_out=opt_out,
            invite=invite,
            tell_organizer=tell_organizer,
        )

        calendar_rules.additional_properties = d
        return calendar_rules

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
