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
    from ..models.transcript_data_data_metadata import TranscriptDataDataMetadata
    from ..models.webhook_segment import WebhookSegment


T = TypeVar("T", bound="TranscriptDataData")


@_attrs_define
class TranscriptDataData:
    """What was said.

    Attributes:
        event (Literal['transcript.data']): Always `transcript.data`.
        job_id (UUID): The ID of the job.
        external_id (str): The external ID of the job.
        segment (WebhookSegment): A segment of the live transcript. It does not change any more.
        metadata (TranscriptDataDataMetadata | Unset): The metadata of the job. Absent if they have more than 4 KiB.
        sequence (int | Unset): The number of the event within its job.
    """

    event: Literal["transcript.data"]
    job_id: UUID
    external_id: str
    segment: WebhookSegment
    metadata: TranscriptDataDataMetadata | Unset = UNSET
    sequence: int | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        event = self.event

        job_id = str(self.job_id)

        external_id = self.external_id

        segment = self.segment.to_dict()

        metadata: dict[str, Any] | Unset = UNSET
        if not isinstance(self.metadata, Unset):
            metadata = self.metadata.to_dict()

        sequence = self.sequence

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "event": event,
                "jobId": job_id,
                "externalId": external_id,
                "segment": segment,
            }
        )
        if metadata is not UNSET:
            field_dict["metadata"] = metadata
        if sequence is not UNSET:
            field_dict["sequence"] = sequence

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.transcript_data_data_metadata import TranscriptDataDataMetadata
        from ..models.webhook_segment import WebhookSegment

        d = dict(src_dict)
        event = cast(Literal["transcript.data"], d.pop("event"))

        job_id = UUID(d.pop("jobId"))

        external_id = d.pop("externalId")

        segment = WebhookSegment.from_dict(d.pop("segment"))

        _metadata = d.pop("metadata", UNSET)
        metadata: TranscriptDataDataMetadata | Unset
        if isinstance(_metadata, Unset):
            metadata = UNSET
        else:
            metadata = TranscriptDataDataMetadata.from_dict(_metadata)

        sequence = d.pop("sequence", UNSET)

        transcript_data_data = cls(
            event=event,
            job_id=job_id,
            external_id=external_id,
            segment=segment,
            metadata=metadata,
            sequence=sequence,
        )

        transcript_data_data.additional_properties = d
        return transcript_data_data

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
