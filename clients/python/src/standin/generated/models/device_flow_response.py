from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.device_flow_response_status import DeviceFlowResponseStatus
from ..types import UNSET, Unset

T = TypeVar("T", bound="DeviceFlowResponse")


@_attrs_define
class DeviceFlowResponse:
    """The status of a device flow.

    Attributes:
        status (DeviceFlowResponseStatus): The status.
        api_key (str | Unset): The API key. Only present if the flow is complete.
        email (str | Unset): The email address of the user. Only present if the flow is complete and the address is
            known.
    """

    status: DeviceFlowResponseStatus
    api_key: str | Unset = UNSET
    email: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        status = self.status.value

        api_key = self.api_key

        email = self.email

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "status": status,
            }
        )
        if api_key is not UNSET:
            field_dict["apiKey"] = api_key
        if email is not UNSET:
            field_dict["email"] = email

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        status = DeviceFlowResponseStatus(d.pop("status"))

        api_key = d.pop("apiKey", UNSET)

        email = d.pop("email", UNSET)

        device_flow_response = cls(
            status=status,
            api_key=api_key,
            email=email,
        )

        device_flow_response.additional_properties = d
        return device_flow_response

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
