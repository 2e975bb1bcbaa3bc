from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.ingest_result_reason import IngestResultReason
from ..models.job_status import JobStatus
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.commands_item import CommandsItem


T = TypeVar("T", bound="IngestResult")


@_attrs_define
class IngestResult:
    """The result of an event.

    Attributes:
        ok (bool): The event is stored.
        applied (bool): Whether the event was applied to the job.
        status (JobStatus): The status of a job. `completed`, `failed` and `cancelled` are final.
        commands (list[CommandsItem]): The pending commands. A command is in each response until it is acknowledged.
        reason (IngestResultReason | Unset): Why the event was not applied. Omitted if it was.
    """

    ok: bool
    applied: bool
    status: JobStatus
    commands: list[CommandsItem]
    reason: IngestResultReason | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        ok = self.ok

        applied = self.applied

        status = self.status.value

        commands = []
        for componentsschemas_commands_item_data in self.commands:
            componentsschemas_commands_item = componentsschemas_commands_item_data.to_dict()
            commands.append(componentsschemas_commands_item)

        reason: str | Unset = UNSET
        if not isinstance(self.reason, Unset):
            reason = self.reason.value

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "ok": ok,
                "applied": applied,
                "status": status,
                "commands": commands,
            }
        )
        if reason is not UNSET:
            field_dict["reason"] = reason

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.commands_item import CommandsItem

        d = dict(src_dict)
        ok = d.pop("ok")

        applied = d.pop("applied")

        status = JobStatus(d.pop("status"))

        commands = []
        _commands = d.pop("commands")
        for componentsschemas_commands_item_data in _commands:
            componentsschemas_commands_item = CommandsItem.from_dict(componentsschemas_commands_item_data)

            commands.append(componentsschemas_commands_item)

        _reason = d.pop("reason", UNSET)
        reason: IngestResultReason | Unset
        if isinstance(_reason, Unset):
            reason = UNSET
        else:
            reason = IngestResultReason(_reason)

        ingest_result = cls(
            ok=ok,
            applied=applied,
            status=status,
            commands=commands,
            reason=reason,
        )

        ingest_result.additional_properties = d
        return ingest_result

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
