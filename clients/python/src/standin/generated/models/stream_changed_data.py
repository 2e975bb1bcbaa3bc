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

from ..models.stream_changed_data_state import StreamChangedDataState
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.job import Job


T = TypeVar("T", bound="StreamChangedData")


@_attrs_define
class StreamChangedData:
    """The data of `bot.stream_changed`.

    Attributes:
        event (Literal['bot.stream_changed']): Always `bot.stream_changed`.
        job_id (UUID): The ID of the job.
        job (Job): A bot in a meeting. Every field is always present.
        stream (int): The index of the stream in the option `streams`, from 0.
        host (str): The host of its URL.
        state (StreamChangedDataState): `connected`; `disconnected`: the service connects again; `failed`: it does not.
        sequence (int | Unset): The number of the event within its job.
        reason (str | Unset): Why the stream is not connected. Absent if it is.
    """

    event: Literal["bot.stream_changed"]
    job_id: UUID
    job: Job
    stream: int
    host: str
    state: StreamChangedDataState
    sequence: int | Unset = UNSET
    reason: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        event = self.event

        job_id = str(self.job_id)

        job = self.job.to_dict()

        stream = self.stream

        host = self.host

        state = self.state.value

        sequence = self.sequence

        reason = self.reason

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "event": event,
                "jobId": job_id,
                "job": job,
                "stream": stream,
                "host": host,
                "state": state,
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
        event = cast(Literal["bot.stream_changed"], d.pop("event"))

        job_id = UUID(d.pop("jobId"))

        job = Job.from_dict(d.pop("job"))

        stream = d.pop("stream")

        host = d.pop("host")

        state = StreamChangedDataState(d.pop("state"))

        sequence = d.pop("sequence", UNSET)

        reason = d.pop("reason", UNSET)

        stream_changed_data = cls(
            event=event,
            job_id=job_id,
            job=job,
            stream=stream,
            host=host,
            state=state,
            sequence=sequence,
            reason=reason,
        )

        stream_changed_data.additional_properties = d
        return stream_changed_data

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
