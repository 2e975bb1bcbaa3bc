from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.job_status import JobStatus
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.commands_item import CommandsItem


T = TypeVar("T", bound="HeartbeatResult")


@_attrs_define
class HeartbeatResult:
    """The pending commands of the bot.

    Attributes:
        ok (bool): The heartbeat is recorded.
        status (JobStatus): The status of a job. `completed`, `failed` and `cancelled` are final.
        commands (list[CommandsItem]): The pending commands. A command is in each response until it is acknowledged.
        next_seconds (int): Seconds until the next heartbeat is due.
        screenshots (bool | Unset): Whether somebody watches the job and the bot is to send pictures of its page.
            Omitted when false.
    """

    ok: bool
    status: JobStatus
    commands: list[CommandsItem]
    next_seconds: int
    screenshots: bool | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        ok = self.ok

        status = self.status.value

        commands = []
        for componentsschemas_commands_item_data in self.commands:
            componentsschemas_commands_item = componentsschemas_commands_item_data.to_dict()
            commands.append(componentsschemas_commands_item)

        next_seconds = self.next_seconds

        screenshots = self.screenshots

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "ok": ok,
                "status": status,
                "commands": commands,
                "nextSeconds": next_seconds,
            }
        )
        if screenshots is not UNSET:
            field_dict["screenshots"] = screenshots

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.commands_item import CommandsItem

        d = dict(src_dict)
        ok = d.pop("ok")

        status = JobStatus(d.pop("status"))

        commands = []
        _commands = d.pop("commands")
        for componentsschemas_commands_item_data in _commands:
            componentsschemas_commands_item = CommandsItem.from_dict(componentsschemas_commands_item_data)

            commands.append(componentsschemas_commands_item)

        next_seconds = d.pop("nextSeconds")

        screenshots = d.pop("screenshots", UNSET)

        heartbeat_result = cls(
            ok=ok,
            status=status,
            commands=commands,
            next_seconds=next_seconds,
            screenshots=screenshots,
        )

        heartbeat_result.additional_properties = d
        return heartbeat_result

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
