from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.host_metrics_bots import HostMetricsBots
    from ..models.host_metrics_cpu_type_0 import HostMetricsCpuType0
    from ..models.host_metrics_disk_type_0 import HostMetricsDiskType0
    from ..models.host_metrics_load_type_0 import HostMetricsLoadType0
    from ..models.host_metrics_ram_type_0 import HostMetricsRamType0


T = TypeVar("T", bound="HostMetrics")


@_attrs_define
class HostMetrics:
    """Metrics of a machine.

    Attributes:
        cpu (HostMetricsCpuType0 | None): CPU usage since the previous reading, in percent.
        ram (HostMetricsRamType0 | None): Memory in MB of 2^20 bytes.
        load (HostMetricsLoadType0 | None): The average number of processes that were running or waiting to run.
        disk (HostMetricsDiskType0 | None): Usage of the file system that contains the data folder.
        bots (HostMetricsBots): Numbers of jobs of all consumers.
        uptime_sec (int | None): Seconds since the machine started.
        ts (int): When the metrics were read, in milliseconds since 1970.
    """

    cpu: HostMetricsCpuType0 | None
    ram: HostMetricsRamType0 | None
    load: HostMetricsLoadType0 | None
    disk: HostMetricsDiskType0 | None
    bots: HostMetricsBots
    uptime_sec: int | None
    ts: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.host_metrics_cpu_type_0 import HostMetricsCpuType0
        from ..models.host_metrics_disk_type_0 import HostMetricsDiskType0
        from ..models.host_metrics_load_type_0 import HostMetricsLoadType0
        from ..models.host_metrics_ram_type_0 import HostMetricsRamType0

        cpu: dict[str, Any] | None
        if isinstance(self.cpu, HostMetricsCpuType0):
            cpu = self.cpu.to_dict()
        else:
            cpu = self.cpu

        ram: dict[str, Any] | None
        if isinstance(self.ram, HostMetricsRamType0):
            ram = self.ram.to_dict()
        else:
            ram = self.ram

        load: dict[str, Any] | None
        if isinstance(self.load, HostMetricsLoadType0):
            load = self.load.to_dict()
        else:
            load = self.load

        disk: dict[str, Any] | None
        if isinstance(self.disk, HostMetricsDiskType0):
            disk = self.disk.to_dict()
        else:
            disk = self.disk

        bots = self.bots.to_dict()

        uptime_sec: int | None
        uptime_sec = self.uptime_sec

        ts = self.ts

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "cpu": cpu,
                "ram": ram,
                "load": load,
                "disk": disk,
                "bots": bots,
                "uptimeSec": uptime_sec,
                "ts": ts,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.host_metrics_bots import HostMetricsBots
        from ..models.host_metrics_cpu_type_0 import HostMetricsCpuType0
        from ..models.host_metrics_disk_type_0 import HostMetricsDiskType0
        from ..models.host_metrics_load_type_0 import HostMetricsLoadType0
        from ..models.host_metrics_ram_type_0 import HostMetricsRamType0

        d = dict(src_dict)

        def _parse_cpu(data: object) -> HostMetricsCpuType0 | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                cpu_type_0 = HostMetricsCpuType0.from_dict(data)

                return cpu_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(HostMetricsCpuType0 | None, data)

        cpu = _parse_cpu(d.pop("cpu"))

        def _parse_ram(data: object) -> HostMetricsRamType0 | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                ram_type_0 = HostMetricsRamType0.from_dict(data)

                return ram_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(HostMetricsRamType0 | None, data)

        ram = _parse_ram(d.pop("ram"))

        def _parse_load(data: object) -> HostMetricsLoadType0 | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                load_type_0 = HostMetricsLoadType0.from_dict(data)

                return load_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(HostMetricsLoadType0 | None, data)

        load = _parse_load(d.pop("load"))

        def _parse_disk(data: object) -> HostMetricsDiskType0 | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                disk_type_0 = HostMetricsDiskType0.from_dict(data)

                return disk_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(HostMetricsDiskType0 | None, data)

        disk = _parse_disk(d.pop("disk"))

        bots = HostMetricsBots.from_dict(d.pop("bots"))

        def _parse_uptime_sec(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        uptime_sec = _parse_uptime_sec(d.pop("uptimeSec"))

        ts = d.pop("ts")

        host_metrics = cls(
            cpu=cpu,
            ram=ram,
            load=load,
            disk=disk,
            bots=bots,
            uptime_sec=uptime_sec,
            ts=ts,
        )

        host_metrics.additional_properties = d
        return host_metrics

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
