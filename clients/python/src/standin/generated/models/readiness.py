from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.readiness_checks_item import ReadinessChecksItem


T = TypeVar("T", bound="Readiness")


@_attrs_define
class Readiness:
    """Whether a node can do its work.

    Attributes:
        ready (bool): Every check succeeded.
        checks (list[ReadinessChecksItem]): The latest result of each check.
    """

    ready: bool
    checks: list[ReadinessChecksItem]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        ready = self.ready

        checks = []
        for checks_item_data in self.checks:
            checks_item = checks_item_data.to_dict()
            checks.append(checks_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "ready": ready,
                "checks": checks,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.readiness_checks_item import ReadinessChecksItem

        d = dict(src_dict)
        ready = d.pop("ready")

        checks = []
        _checks = d.pop("checks")
        for checks_item_data in _checks:
            checks_item = ReadinessChecksItem.from_dict(checks_item_data)

            checks.append(checks_item)

        readiness = cls(
            ready=ready,
            checks=checks,
        )

        readiness.additional_properties = d
        return readiness

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
