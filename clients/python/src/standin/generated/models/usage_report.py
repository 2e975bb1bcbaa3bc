from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from dateutil.parser import isoparse

if TYPE_CHECKING:
    from ..models.usage import Usage
    from ..models.usage_day import UsageDay


T = TypeVar("T", bound="UsageReport")


@_attrs_define
class UsageReport:
    """The usage of a team.

    Attributes:
        from_ (datetime.date): The first day.
        to (datetime.date): The last day, which is included.
        total (Usage): What jobs have used.
        days (list[UsageDay]): The days with use, in their order.
        kept_bytes (int): The size of all recordings that are stored now, in bytes.
    """

    from_: datetime.date
    to: datetime.date
    total: Usage
    days: list[UsageDay]
    kept_bytes: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from_ = self.from_.isoformat()

        to = self.to.isoformat()

        total = self.total.to_dict()

        days = []
        for days_item_data in self.days:
            days_item = days_item_data.to_dict()
            days.append(days_item)

        kept_bytes = self.kept_bytes

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "from": from_,
                "to": to,
                "total": total,
                "days": days,
                "keptBytes": kept_bytes,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.usage import Usage
        from ..models.usage_day import UsageDay

        d = dict(src_dict)
        from_ = isoparse(d.pop("from")).date()

        to = isoparse(d.pop("to")).date()

        total = Usage.from_dict(d.pop("total"))

        days = []
        _days = d.pop("days")
        for days_item_data in _days:
            days_item = UsageDay.from_dict(days_item_data)

            days.append(days_item)

        kept_bytes = d.pop("keptBytes")

        usage_report = cls(
            from_=from_,
            to=to,
            total=total,
            days=days,
            kept_bytes=kept_bytes,
        )

        usage_report.additional_properties = d
        return usage_report

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
