from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from dateutil.parser import isoparse

T = TypeVar("T", bound="DeviceFlow")


@_attrs_define
class DeviceFlow:
    """An open device flow.

    Attributes:
        nonce (str): Identifies the flow. Anyone who has it can get the key, so keep it secret.
        verify_url (str): The URL on which the user authorizes the flow.
        expires_at (datetime.datetime): When the flow expires.
    """

    nonce: str
    verify_url: str
    expires_at: datetime.datetime
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        nonce = self.nonce

        verify_url = self.verify_url

        expires_at = self.expires_at.isoformat()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "nonce": nonce,
                "verifyUrl": verify_url,
                "expiresAt": expires_at,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        nonce = d.pop("nonce")

        verify_url = d.pop("verifyUrl")

        expires_at = isoparse(d.pop("expiresAt"))

        device_flow = cls(
            nonce=nonce,
            verify_url=verify_url,
            expires_at=expires_at,
        )

        device_flow.additional_properties = d
        return device_flow

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
