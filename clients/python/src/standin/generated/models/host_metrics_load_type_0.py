from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="HostMetricsLoadType0")


@_attrs_define
class HostMetricsLoadType0:
    """The average number of processes that were running or waiting to run.

    Attributes:
        one (float): Over one minute.
        five (float): Over five minutes.
        fifteen (float): Over fifteen minutes.
    """

    one: float
    five: float
    fifteen: float
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        one = self.one

        five = self.five

        fifteen = self.fifteen

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "one": one,
                "five": five,
                "fifteen": fifteen,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        one = d.pop("one")

        five = d.pop("five")

        fifteen = d.pop("fifteen")

        host_metrics_load_type_0 = cls(
            one=one,
            five=five,
            fifteen=fifteen,
        )

        host_metrics_load_type_0.additional_properties = d
        return host_metrics_load_type_0

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
