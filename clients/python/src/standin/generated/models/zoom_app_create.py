from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="ZoomAppCreate")


@_attrs_define
class ZoomAppCreate:
    """An app to add.

    Attributes:
        client_id (str): Its client ID at Zoom.
        client_secret (str): Its client secret.
        secret_token (str): Its secret token for webhooks.
        label (str | Unset): A label; the client ID by default.
        record (bool | Unset): Whether each stream that it announces gets a job, whose `externalId` is `zoom:` and the
            UUID of the meeting. Default: false.
    """

    client_id: str
    client_secret: str
    secret_token: str
    label: str | Unset = UNSET
    record: bool | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        client_id = self.client_id

        client_secret = self.client_secret

        secret_token = self.secret_token

        label = self.label

        record = self.record

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "clientId": client_id,
                "clientSecret": client_secret,
                "secretToken": secret_token,
            }
        )
        if label is not UNSET:
            field_dict["label"] = label
        if record is not UNSET:
            field_dict["record"] = record

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        client_id = d.pop("clientId")

        client_secret = d.pop("clientSecret")

        secret_token = d.pop("secretToken")

        label = d.pop("label", UNSET)

        record = d.pop("record", UNSET)

        zoom_app_create = cls(
            client_id=client_id,
            client_secret=client_secret,
            secret_token=secret_token,
            label=label,
            record=record,
        )

        zoom_app_create.additional_properties = d
        return zoom_app_create

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
