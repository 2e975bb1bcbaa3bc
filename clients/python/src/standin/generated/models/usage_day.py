from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from dateutil.parser import isoparse

T = TypeVar("T", bound="UsageDay")


@_attrs_define
class UsageDay:
    """The usage of a day (UTC).

    Attributes:
        date (datetime.date): The day.
        jobs (int): Jobs that ended.
        completed (int): Those that were completed.
        failed (int): Those that failed.
        cancelled (int): Those that were cancelled.
        success_rate (float | None): The share of completed jobs among those that were not cancelled. Null without such
            jobs.
        recorded_hours (float): As of the total.
        bot_minutes (float): As of the total.
        stored_bytes (int): As of the total.
        deleted_bytes (int): As of the total.
        core_hours (float): As of the total.
        memory_gi_b_hours (float): As of the total.
        price (float | None): As of the total.
    """

    date: datetime.date
    jobs: int
    completed: int
    failed: int
    cancelled: int
    success_rate: float | None
    recorded_hours: float
    bot_minutes: float
    stored_bytes: int
    deleted_bytes: int
    core_hours: float
    memory_gi_b_hours: float
    price: float | None
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        date = self.date.isoformat()

        jobs = self.jobs

        completed = self.completed

        failed = self.failed

        cancelled = self.cancelled

        success_rate: float | None
        success_rate = self.success_rate

        recorded_hours = self.recorded_hours

        bot_minutes = self.bot_minutes

        stored_bytes = self.stored_bytes

        deleted_bytes = self.deleted_bytes

        core_hours = self.core_hours

        memory_gi_b_hours = self.memory_gi_b_hours

        price: float | None
        price = self.price

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "date": date,
                "jobs": jobs,
                "completed": completed,
                "failed": failed,
                "cancelled": cancelled,
                "successRate": success_rate,
                "recordedHours": recorded_hours,
                "botMinutes": bot_minutes,
                "storedBytes": stored_bytes,
                "deletedBytes": deleted_bytes,
                "coreHours": core_hours,
                "memoryGiBHours": memory_gi_b_hours,
                "price": price,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        date = isoparse(d.pop("date")).date()

        jobs = d.pop("jobs")

        completed = d.pop("completed")

        failed = d.pop("failed")

        cancelled = d.pop("cancelled")

        def _parse_success_rate(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        success_rate = _parse_success_rate(d.pop("successRate"))

        recorded_hours = d.pop("recordedHours")

        bot_minutes = d.pop("botMinutes")

        stored_bytes = d.pop("storedBytes")

        deleted_bytes = d.pop("deletedBytes")

        core_hours = d.pop("coreHours")

        memory_gi_b_hours = d.pop("memoryGiBHours")

        def _parse_price(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        price = _parse_price(d.pop("price"))

        usage_day = cls(
            date=date,
            jobs=jobs,
            completed=completed,
            failed=failed,
            cancelled=cancelled,
            success_rate=success_rate,
            recorded_hours=recorded_hours,
            bot_minutes=bot_minutes,
            stored_bytes=stored_bytes,
            deleted_bytes=deleted_bytes,
            core_hours=core_hours,
            memory_gi_b_hours=memory_gi_b_hours,
            price=price,
        )

        usage_day.additional_properties = d
        return usage_day

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
