from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="JobResources")


@_attrs_define
class JobResources:
    """What the bots of a job used of machines, as they reported it until its end. Only jobs that have ended have it, if
    their bots could measure it.

        Attributes:
            core_hours (float): Processor time, in hours.
            memory_gi_b_hours (float): Memory, in GiB times hours.
            price (float | None): What these cost at `STANDIN_PRICE_CORE_HOUR` and `STANDIN_PRICE_GIB_HOUR`. Null without
                such a setting.
    """

    core_hours: float
    memory_gi_b_hours: float
    price: float | None
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        core_hours = self.core_hours

        memory_gi_b_hours = self.memory_gi_b_hours

        price: float | None
        price = self.price

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "coreHours": core_hours,
                "memoryGiBHours": memory_gi_b_hours,
                "price": price,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        core_hours = d.pop("coreHours")

        memory_gi_b_hours = d.pop("memoryGiBHours")

        def _parse_price(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        price = _parse_price(d.pop("price"))

        job_resources = cls(
            core_hours=core_hours,
            memory_gi_b_hours=memory_gi_b_hours,
            price=price,
        )

        job_resources.additional_properties = d
        return job_resources

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
