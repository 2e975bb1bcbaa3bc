from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from dateutil.parser import isoparse

from ..models.live_command_outcome import LiveCommandOutcome
from ..models.live_command_type import LiveCommandType
from ..types import UNSET, Unset

T = TypeVar("T", bound="LiveCommand")


@_attrs_define
class LiveCommand:
    """The outcome of a command.

    Attributes:
        type_ (LiveCommandType): The kind of the event.
        command_id (str): The ID of the command. Empty without one.
        command (str): The kind of the command, a `CommandKind`; without one, `on_join` or `camera` for the options
            `output.onJoin` and `output.camera`, and `page` or `stream` for the live sound of a page or a stream, which is
            told only when it fails.
        outcome (LiveCommandOutcome): Whether the command was executed.
        at (datetime.datetime): When the outcome was known.
        reason (str | Unset): Why it failed. Absent if it was executed.
    """

    type_: LiveCommandType
    command_id: str
    command: str
    outcome: LiveCommandOutcome
    at: datetime.datetime
    reason: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        type_ = self.type_.value

        command_id = self.command_id

        command = self.command

        outcome = self.outcome.value

        at = self.at.isoformat()

        reason = self.reason

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "type": type_,
                "commandId": command_id,
                "command": command,
                "outcome": outcome,
                "at": at,
            }
        )
        if reason is not UNSET:
            field_dict["reason"] = reason

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        type_ = LiveCommandType(d.pop("type"))

        command_id = d.pop("commandId")

        command = d.pop("command")

        outcome = LiveCommandOutcome(d.pop("outcome"))

        at = isoparse(d.pop("at"))

        reason = d.pop("reason", UNSET)

        live_command = cls(
            type_=type_,
            command_id=command_id,
            command=command,
            outcome=outcome,
            at=at,
            reason=reason,
        )

        live_command.additional_properties = d
        return live_command

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
