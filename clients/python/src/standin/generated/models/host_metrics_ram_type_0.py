from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="HostMetricsRamType0")


@_attrs_define
class HostMetricsRamType0:
    """Memory in MB of 2^20 bytes.

    Attributes:
        used (float): Memory used by programs.
        free (float): Unused memory.
        cached (float): Page cache of the kernel, which can be reclaimed.
        buffers (float): Buffers of the kernel. 0 in a container.
        total_mb (float): Total memory.
    """

    used: float
    free: float
    cached: float
    buffers: float
    total_mb: float
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        used = self.used

        free = self.free

        cached = self.cached

        buffers = self.buffers

        total_mb = self.total_mb

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "used": used,
                "free": free,
                "cached": cached,
                "buffers": buffers,
                "totalMB": total_mb,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        used = d.pop("used")

        free = d.pop("free")

        cached = d.pop("cached")

        buffers = d.pop("buffers")

        total_mb = d.pop("totalMB")

        host_metrics_ram_type_0 = cls(
            used=used,
            free=free,
            cached=cached,
            buffers=buffers,
            total_mb=total_mb,
        )

        host_metrics_ram_type_0.additional_properties = d
        return host_metrics_ram_type_0

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
