from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="ZoomAnswer")


@_attrs_define
class ZoomAnswer:
    """The answer to an event of Zoom. The token and its signature answer a validation.

    Attributes:
        plain_token (str | Unset): The token of the event.
        encrypted_token (str | Unset): Its HMAC-SHA256 in hex, keyed by the secret token.
    """

    plain_token: str | Unset = UNSET
    encrypted_token: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        plain_token = self.plain_token

        encrypted_token = self.encrypted_token

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({})
        if plain_token is not UNSET:
            field_dict["plainToken"] = plain_token
        if encrypted_token is not UNSET:
            field_dict["encryptedToken"] = encrypted_token

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        plain_token = d.pop("plainToken", UNSET)

        encrypted_token = d.pop("encryptedToken", UNSET)

        zoom_answer = cls(
            plain_token=plain_token,
            encrypted_token=encrypted_token,
        )

        zoom_answer.additional_properties = d
        return zoom_answer

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
