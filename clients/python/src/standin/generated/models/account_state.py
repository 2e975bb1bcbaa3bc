from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="AccountState")


@_attrs_define
class AccountState:
    """What signs a browser in.

    Attributes:
        cookies (str | Unset): The cookies as JSON, in base64.
        profile (str | Unset): A ZIP file of parts of a browser profile, in base64.
    """

    cookies: str | Unset = UNSET
    profile: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        cookies = self.cookies

        profile = self.profile

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({})
        if cookies is not UNSET:
            field_dict["cookies"] = cookies
        if profile is not UNSET:
            field_dict["profile"] = profile

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        cookies = d.pop("cookies", UNSET)

        profile = d.pop("profile", UNSET)

        account_state = cls(
            cookies=cookies,
            profile=profile,
        )

        account_state.additional_properties = d
        return account_state

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
