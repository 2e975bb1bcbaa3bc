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

from ..models.command_kind import CommandKind
from ..models.command_outcome_data_outcome import CommandOutcomeDataOutcome
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.job import Job


T = TypeVar("T", bound="CommandOutcomeData")


@_attrs_define
class CommandOutcomeData:
    """The data of `bot.command_outcome`.

    Attributes:
        event (Literal['bot.command_outcome']): Always `bot.command_outcome`.
        job_id (UUID): The ID of the job.
        job (Job): A bot in a meeting. Every field is always present.
        command_id (UUID): The ID of the command.
        command (CommandKind): The kind of a command.
        outcome (CommandOutcomeDataOutcome): Whether the command was executed.
        sequence (int | Unset): The number of the event within its job.
        reason (str | Unset): Why it failed. Absent if it was executed.
    """

    event: Literal["bot.command_outcome"]
    job_id: UUID
    job: Job
    command_id: UUID
    command: CommandKind
    outcome: CommandOutcomeDataOutcome
    sequence: int | Unset = UNSET
    reason: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        event = self.event

        job_id = str(self.job_id)

        job = self.job.to_dict()

        command_id = str(self.command_id)

        command = self.command.value

        outcome = self.outcome.value

        sequence = self.sequence

        reason = self.reason

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "event": event,
                "jobId": job_id,
                "job": job,
                "commandId": command_id,
                "command": command,
                "outcome": outcome,
            }
        )
        if sequence is not UNSET:
            field_dict["sequence"] = sequence
        if reason is not UNSET:
            field_dict["reason"] = reason

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.job import Job

        d = dict(src_dict)
        event = cast(Literal["bot.command_outcome"], d.pop("event"))

        job_id = UUID(d.pop("jobId"))

        job = Job.from_dict(d.pop("job"))

        command_id = UUID(d.pop("commandId"))

        command = CommandKind(d.pop("command"))

        outcome = CommandOutcomeDataOutcome(d.pop("outcome"))

        sequence = d.pop("sequence", UNSET)

        reason = d.pop("reason", UNSET)

        command_outcome_data = cls(
            event=event,
            job_id=job_id,
            job=job,
            command_id=command_id,
            command=command,
            outcome=outcome,
            sequence=sequence,
            reason=reason,
        )

        command_outcome_data.additional_properties = d
        return command_outcome_data

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
