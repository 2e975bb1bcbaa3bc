from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from dateutil.parser import isoparse

from ..types import UNSET, Unset

T = TypeVar("T", bound="AccountPatch")


@_attrs_define
class AccountPatch:
    """Changes to an account.

    Attributes:
        label (str | Unset): The label.
        address (None | str | Unset): Its email address. null removes it.
        group (None | str | Unset): The group. null removes it.
        max_meetings (int | Unset): In how many meetings at once it may be.
        rests_until (datetime.datetime | None | Unset): Until when no bot uses it. null ends a rest.
        cookies (str | Unset): The cookies of the signed-in user: the text of a JSON or Netscape `cookies.txt` file that
            a browser extension exports.
    """

    label: str | Unset = UNSET
    address: None | str | Unset = UNSET
    group: None | str | Unset = UNSET
    max_meetings: int | Unset = UNSET
    rests_until: datetime.datetime | None | Unset = UNSET
    cookies: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        label = self.label

        address: None | str | Unset
        if isinstance(self.address, Unset):
            address = UNSET
        else:
            address = self.address

        group: None | str | Unset
        if isinstance(self.group, Unset):
            group = UNSET
        else:
            group = self.group

        max_meetings = self.max_meetings

        rests_until: None | str | Unset
        if isinstance(self.rests_until, Unset):
            rests_until = UNSET
        elif isinstance(self.rests_until, datetime.datetime):
            rests_until = self.rests_until.isoformat()
        else:
            rests_until = self.rests_until

        cookies = self.cookies

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({})
        if label is not UNSET:
            field_dict["label"] = label
        if address is not UNSET:
            field_dict["address"] = address
        if group is not UNSET:
            field_dict["group"] = group
        if max_meetings is not UNSET:
            field_dict["maxMeetings"] = max_meetings
        if rests_until is not UNSET:
            field_dict["restsUntil"] = rests_until
        if cookies is not UNSET:
            field_dict["cookies"] = cookies

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        label = d.pop("label", UNSET)

        def _parse_address(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        address = _parse_address(d.pop("address", UNSET))

        def _parse_group(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        group = _parse_group(d.pop("group", UNSET))

        max_meetings = d.pop("maxMeetings", UNSET)

        def _parse_rests_until(data: object) -> datetime.datetime | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                rests_until_type_0 = isoparse(data)

                return rests_until_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None | Unset, data)

        rests_until = _parse_rests_until(d.pop("restsUntil", UNSET))

        cookies = d.pop("cookies", UNSET)

        account_patch = cls(
            label=label,
            address=address,
            group=group,
            max_meetings=max_meetings,
            rests_until=rests_until,
            cookies=cookies,
        )

        account_patch.additional_properties = d
        return account_patch

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
