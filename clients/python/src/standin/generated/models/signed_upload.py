from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.signed_upload_headers import SignedUploadHeaders


T = TypeVar("T", bound="SignedUpload")


@_attrs_define
class SignedUpload:
    """An upload to the object store.

    Attributes:
        url (str | Unset): The URL, which is a secret. Omitted if the service has to take the file.
        headers (SignedUploadHeaders | Unset): The headers of the request.
    """

    url: str | Unset = UNSET
    headers: SignedUploadHeaders | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        url = self.url

        headers: dict[str, Any] | Unset = UNSET
        if not isinstance(self.headers, Unset):
            headers = self.headers.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({})
        if url is not UNSET:
            field_dict["url"] = url
        if headers is not UNSET:
            field_dict["headers"] = headers

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.signed_upload_headers import SignedUploadHeaders

        d = dict(src_dict)
        url = d.pop("url", UNSET)

        _headers = d.pop("headers", UNSET)
        headers: SignedUploadHeaders | Unset
        if isinstance(_headers, Unset):
            headers = UNSET
        else:
            headers = SignedUploadHeaders.from_dict(_headers)

        signed_upload = cls(
            url=url,
            headers=headers,
        )

        signed_upload.additional_properties = d
        return signed_upload

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
