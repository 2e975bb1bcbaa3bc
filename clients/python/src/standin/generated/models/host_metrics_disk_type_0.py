from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="HostMetricsDiskType0")


@_attrs_define
class HostMetricsDiskType0:
    """Usage of the file system that contains the data folder.

    Attributes:
        used_pct (float): Used space in percent.
        free_gb (float): Free space in GB of 2^30 bytes.
    """

    used_pct: float
    free_gb: float
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        used_pct = self.used_pct

        free_gb = self.free_gb

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "usedPct": used_pct,
                "freeGB": free_gb,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        used_pct = d.pop("usedPct")

        free_gb = d.pop("freeGB")

        host_metrics_disk_type_0 = cls(
            used_pct=used_pct,
            free_gb=free_gb,
        )

        host_metrics_disk_type_0.additional_properties = d
        return host_metrics_disk_type_0

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
