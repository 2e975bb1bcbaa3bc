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


T = TypeVar("T", bound="JobTranscriptReadyData")


@_attrs_define
class JobTranscriptReadyData:
    """The data of `job.transcript_ready`.

    Attributes:
        event (Literal['job.transcript_ready']): Always `job.transcript_ready`.
        job_id (UUID): The ID of the job.
        job (Job): A bot in a meeting. Every field is always present.
        manifest_uri (str): The URL of the manifest.
        manifest_revision (int): The `revision` of the manifest that lists the transcript.
        segments (int): The number of segments of the transcript.
        partial (bool): Whether the recording has audio beyond the limit of the job, which was not transcribed.
        sequence (int | Unset): The number of the event within its job.
    """

    event: Literal["job.transcript_ready"]
    job_id: UUID
    job: Job
    manifest_uri: str
    manifest_revision: int
    segments: int
    partial: bool
    sequence: int | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        event = self.event

        job_id = str(self.job_id)

        job = self.job.to_dict()

        manifest_uri = self.manifest_uri

        manifest_revision = self.manifest_revision

        segments = self.segments

        partial = self.partial

        sequence = self.sequence

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "event": event,
                "jobId": job_id,
                "job": job,
                "manifestUri": manifest_uri,
                "manifestRevision": manifest_revision,
                "segments": segments,
                "partial": partial,
            }
        )
        if sequence is not UNSET:
            field_dict["sequence"] = sequence

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.job import Job

        d = dict(src_dict)
        event = cast(Literal["job.transcript_ready"], d.pop("event"))

        job_id = UUID(d.pop("jobId"))

        job = Job.from_dict(d.pop("job"))

        manifest_uri = d.pop("manifestUri")

        manifest_revision = d.pop("manifestRevision")

        segments = d.pop("segments")

        partial = d.pop("partial")

        sequence = d.pop("sequence", UNSET)

        job_transcript_ready_data = cls(
            event=event,
            job_id=job_id,
            job=job,
            manifest_uri=manifest_uri,
            manifest_revision=manifest_revision,
            segments=segments,
            partial=partial,
            sequence=sequence,
        )

        job_transcript_ready_data.additional_properties = d
        return job_transcript_ready_data

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
