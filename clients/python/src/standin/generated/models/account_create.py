from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.account_create_platform import AccountCreatePlatform
from ..types import UNSET, Unset

T = TypeVar("T", bound="AccountCreate")


@_attrs_define
class AccountCreate:
    """An account to add.

    Attributes:
        platform (AccountCreatePlatform): The platform.
        label (str): A label, unique among the accounts of your team on the platform.
        address (str | Unset): Its email address.
        group (str | Unset): A name for several accounts, which jobs can use.
        max_meetings (int | Unset): In how many meetings at once it may be. By default, in one.
        saml (bool | Unset): Whether the bot signs in by SAML as a user of a Google Workspace domain that trusts the
            identity provider of your team, instead of with cookies. The account needs its address.
        cookies (str | Unset): The cookies of the signed-in user: the text of a JSON or Netscape `cookies.txt` file that
            a browser extension exports.
    """

    platform: AccountCreatePlatform
    label: str
    address: str | Unset = UNSET
    group: str | Unset = UNSET
    max_meetings: int | Unset = UNSET
    saml: bool | Unset = UNSET
    cookies: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        platform = self.platform.value

        label = self.label

        address = self.address

        group = self.group

        max_meetings = self.max_meetings

        saml = self.saml

        cookies = self.cookies

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "platform": platform,
                "label": label,
            }
        )
        if address is not UNSET:
            field_dict["address"] = address
        if group is not UNSET:
            field_dict["group"] = group
        if max_meetings is not UNSET:
            field_dict["maxMeetings"] = max_meetings
        if saml is not UNSET:
            field_dict["saml"] = saml
        if cookies is not UNSET:
            field_dict["cookies"] = cookies

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        platform = AccountCreatePlatform(d.pop("platform"))

        label = d.pop("label")

        address = d.pop("address", UNSET)

        group = d.pop("group", UNSET)

        max_meetings = d.pop("maxMeetings", UNSET)

        saml = d.pop("saml", UNSET)

        cookies = d.pop("cookies", UNSET)

        account_create = cls(
            platform=platform,
            label=label,
            address=address,
            group=group,
            max_meetings=max_meetings,
            saml=saml,
            cookies=cookies,
        )

        account_create.additional_properties = d
        return account_create

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
