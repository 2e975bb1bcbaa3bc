from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from dateutil.parser import isoparse

from ..models.live_output_state import LiveOutputState
from ..models.live_output_type import LiveOutputType
from ..types import UNSET, Unset

T = TypeVar("T", bound="LiveOutput")


@_attrs_define
class LiveOutput:
    """A sound or picture of the bot has started, finished or failed.

    Attributes:
        type_ (LiveOutputType): The kind of the event.
        command_id (str): The ID of the command. Empty without one.
        command (str): The kind of the command, a `CommandKind`; without one, `on_join` or `camera` for the options
            `output.onJoin` and `output.camera`, and `page` or `stream` for the live sound of a page or a stream, which is
            told only when it fails.
        state (LiveOutputState): `started`: others hear or see it. `finished`: it was played or shown to the end.
            `failed`: it was not.
        at (datetime.datetime): When the service received it.
        reason (str | Unset): Why it failed, an `OutputFailure`.
        detail (str | Unset): A human-readable explanation.
    """

    type_: LiveOutputType
    command_id: str
    command: str
    state: LiveOutputState
    at: datetime.datetime
    reason: str | Unset = UNSET
    detail: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        type_ = self.type_.value

        command_id = self.command_id

        command = self.command

        state = self.state.value

        at = self.at.isoformat()

        reason = self.reason

        detail = self.detail

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "type": type_,
                "commandId": command_id,
                "command": command,
                "state": state,
                "at": at,
            }
        )
        if reason is not UNSET:
            field_dict["reason"] = reason
        if detail is not UNSET:
            field_dict["detail"] = detail

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        type_ = LiveOutputType(d.pop("type"))

        command_id = d.pop("commandId")

        command = d.pop("command")

        state = LiveOutputState(d.pop("state"))

        at = isoparse(d.pop("at"))

        reason = d.pop("reason", UNSET)

        detail = d.pop("detail", UNSET)

        live_output = cls(
            type_=type_,
            command_id=command_id,
            command=command,
            state=state,
            at=at,
            reason=reason,
            detail=detail,
        )

        live_output.additional_properties = d
        return live_output

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
