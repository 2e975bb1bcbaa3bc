from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.simulation_outcome import SimulationOutcome
from ..models.simulation_permission import SimulationPermission
from ..types import UNSET, Unset

T = TypeVar("T", bound="Simulation")


@_attrs_define
class Simulation:
    """What happens to the simulated bot of a test job. With a live key, this option is invalid.

    Attributes:
        outcome (SimulationOutcome | Unset): What happens, `success` by default.
        seconds (float | Unset): The length of the meeting or of the wait in the lobby, in seconds. The default depends
            on the outcome.
        speed (float | Unset): How much faster than real time everything happens. 1 by default.
        permission (SimulationPermission | Unset): The host's answer to a request for permission to record. The default
            depends on the outcome.
    """

    outcome: SimulationOutcome | Unset = UNSET
    seconds: float | Unset = UNSET
    speed: float | Unset = UNSET
    permission: SimulationPermission | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        outcome: str | Unset = UNSET
        if not isinstance(self.outcome, Unset):
            outcome = self.outcome.value

        seconds = self.seconds

        speed = self.speed

        permission: str | Unset = UNSET
        if not isinstance(self.permission, Unset):
            permission = self.permission.value

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({})
        if outcome is not UNSET:
            field_dict["outcome"] = outcome
        if seconds is not UNSET:
            field_dict["seconds"] = seconds
        if speed is not UNSET:
            field_dict["speed"] = speed
        if permission is not UNSET:
            field_dict["permission"] = permission

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        _outcome = d.pop("outcome", UNSET)
        outcome: SimulationOutcome | Unset
        if isinstance(_outcome, Unset):
            outcome = UNSET
        else:
            outcome = SimulationOutcome(_outcome)

        seconds = d.pop("seconds", UNSET)

        speed = d.pop("speed", UNSET)

        _permission = d.pop("permission", UNSET)
        permission: SimulationPermission | Unset
        if isinstance(_permission, Unset):
            permission = UNSET
        else:
            permission = SimulationPermission(_permission)

        simulation = cls(
            outcome=outcome,
            seconds=seconds,
            speed=speed,
            permission=permission,
        )

        simulation.additional_properties = d
        return simulation

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
