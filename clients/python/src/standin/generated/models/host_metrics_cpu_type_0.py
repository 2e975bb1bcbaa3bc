from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="HostMetricsCpuType0")


@_attrs_define
class HostMetricsCpuType0:
    """CPU usage since the previous reading, in percent.

    Attributes:
        user (float): Time in programs.
        system (float): Time in the kernel.
        iowait (float): Time waiting for disks. 0 in a container.
        idle (float): Idle time.
    """

    user: float
    system: float
    iowait: float
    idle: float
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        user = self.user

        system = self.system

        iowait = self.iowait

        idle = self.idle

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "user": user,
                "system": system,
                "iowait": iowait,
                "idle": idle,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        user = d.pop("user")

        system = d.pop("system")

        iowait = d.pop("iowait")

        idle = d.pop("idle")

        host_metrics_cpu_type_0 = cls(
            user=user,
            system=system,
            iowait=iowait,
            idle=idle,
        )

        host_metrics_cpu_type_0.additional_properties = d
        return host_metrics_cpu_type_0

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
