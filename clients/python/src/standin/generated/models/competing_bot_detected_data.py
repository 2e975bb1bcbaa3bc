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

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.job import Job


T = TypeVar("T", bound="CompetingBotDetectedData")


@_attrs_define
class CompetingBotDetectedData:
    """The data of `bot.competing_bot_detected`.

    Attributes:
        event (Literal['bot.competing_bot_detected']): Always `bot.competing_bot_detected`.
        job_id (UUID): The ID of the job.
        job (Job): A bot in a meeting. Every field is always present.
        detected_bot_name (str): The name of the notetaker in the roster.
        left_meeting (bool): Whether the bot left the meeting because of it.
        sequence (int | Unset): The number of the event within its job.
    """

    event: Literal["bot.competing_bot_detected"]
    job_id: UUID
    job: Job
    detected_bot_name: str
    left_meeting: bool
    sequence: int | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        event = self.event

        job_id = str(self.job_id)

        job = self.job.to_dict()

        detected_bot_name = self.detected_bot_name

        left_meeting = self.left_meeting

        sequence = self.sequence

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "event": event,
                "jobId": job_id,
                "job": job,
                "detectedBotName": detected_bot_name,
                "leftMeeting": left_meeting,
            }
        )
        if sequence is not UNSET:
            field_dict["sequence"] = sequence

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.job import Job

        d = dict(src_dict)
        event = cast(Literal["bot.competing_bot_detected"], d.pop("event"))

        job_id = UUID(d.pop("jobId"))

        job = Job.from_dict(d.pop("job"))

        detected_bot_name = d.pop("detectedBotName")

        left_meeting = d.pop("leftMeeting")

        sequence = d.pop("sequence", UNSET)

        competing_bot_detected_data = cls(
            event=event,
            job_id=job_id,
            job=job,
            detected_bot_name=detected_bot_name,
            left_meeting=left_meeting,
            sequence=sequence,
        )

        competing_bot_detected_data.additional_properties = d
        return competing_bot_detected_data

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
