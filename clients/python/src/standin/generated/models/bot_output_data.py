from __future__ import annotations

from collections.abc import Mapping
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    TypeVar,
    cast,
)
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.bot_output_data_state import BotOutputDataState
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.job import Job


T = TypeVar("T", bound="BotOutputData")


@_attrs_define
class BotOutputData:
    """The data of `bot.output`.

    Attributes:
        event (Literal['bot.output']): Always `bot.output`.
        job_id (UUID): The ID of the job.
        job (Job): A bot in a meeting. Every field is always present.
        command_id (str): The ID of the command. Empty without one.
        command (str): The kind of the command, a `CommandKind`; without one, `on_join` or `camera` for the options
            `output.onJoin` and `output.camera`, and `page` or `stream` for the live sound of a page or a stream, which is
            told only when it fails.
        state (BotOutputDataState): `started`: others hear or see it. `finished`: it was played or shown to the end.
            `failed`: it was not.
        sequence (int | Unset): The number of the event within its job.
        reason (str | Unset): Why it failed, an `OutputFailure`. Absent unless it failed.
        detail (str | Unset): A human-readable explanation. Absent unless it failed.
    """

    event: Literal["bot.output"]
    job_id: UUID
    job: Job
    command_id: str
    command: str
    state: BotOutputDataState
    sequence: int | Unset = UNSET
    reason: str | Unset = UNSET
    detail: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        event = self.event

        job_id = str(self.job_id)

        job = self.job.to_dict()

        command_id = self.command_id

        command = self.command

        state = self.state.value

        sequence = self.sequence

        reason = self.reason

        detail = self.detail

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "event": event,
                "jobId": job_id,
                "job": job,
                "commandId": command_id,
                "command": command,
                "state": state,
            }
        )
        if sequence is not UNSET:
            field_dict["sequence"] = sequence
        if reason is not UNSET:
            field_dict["reason"] = reason
        if detail is not UNSET:
            field_dict["detail"] = detail

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.job import Job

        d = dict(src_dict)
        event = cast(Literal["bot.output"], d.pop("event"))

        job_id = UUID(d.pop("jobId"))

        job = Job.from_dict(d.pop("job"))

        command_id = d.pop("commandId")

        command = d.pop("command")

        state = BotOutputDataState(d.pop("state"))

        sequence = d.pop("sequence", UNSET)

        reason = d.pop("reason", UNSET)

        detail = d.pop("detail", UNSET)

        bot_output_data = cls(
            event=event,
            job_id=job_id,
            job=job,
            command_id=command_id,
            command=command,
            state=state,
            sequence=sequence,
            reason=reason,
            detail=detail,
        )

        bot_output_data.additional_properties = d
        return bot_output_data

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
