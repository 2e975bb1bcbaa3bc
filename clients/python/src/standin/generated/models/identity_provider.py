from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="IdentityProvider")


@_attrs_define
class IdentityProvider:
    """What the SSO profile of a Google Workspace domain needs. Each team has its own key.

    Attributes:
        entity_id (str): The IDP entity ID.
        sign_in_url (str): The address of the sign-in page, which is also that of the sign-out page. No server is there:
            the bots answer in their own browsers.
        certificate (str): The certificate in PEM.
    """

    entity_id: str
    sign_in_url: str
    certificate: str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        entity_id = self.entity_id

        sign_in_url = self.sign_in_url

        certificate = self.certificate

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "entityId": entity_id,
                "signInUrl": sign_in_url,
                "certificate": certificate,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        entity_id = d.pop("entityId")

        sign_in_url = d.pop("signInUrl")

        certificate = d.pop("certificate")

        identity_provider = cls(
            entity_id=entity_id,
            sign_in_url=sign_in_url,
            certificate=certificate,
        )

        identity_provider.additional_properties = d
        return identity_provider

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
