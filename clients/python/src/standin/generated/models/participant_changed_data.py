from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.participant_changed_data_event import ParticipantChangedDataEvent
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.participant_changed_data_metadata import ParticipantChangedDataMetadata
    from ..models.webhook_participant import WebhookParticipant


T = TypeVar("T", bound="ParticipantChangedData")


@_attrs_define
class ParticipantChangedData:
    """What happened.

    Attributes:
        event (ParticipantChangedDataEvent): The name of the event.
        job_id (UUID): The ID of the job.
        external_id (str): The external ID of the job.
        participant (WebhookParticipant): A participant.
        metadata (ParticipantChangedDataMetadata | Unset): The metadata of the job. Absent if they have more than 4 KiB.
        sequence (int | Unset): The number of the event within its job.
    """

    event: ParticipantChangedDataEvent
    job_id: UUID
    external_id: str
    participant: WebhookParticipant
    metadata: ParticipantChangedDataMetadata | Unset = UNSET
    sequence: int | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        event = self.event.value

        job_id = str(self.job_id)

        external_id = self.external_id

        participant = self.participant.to_dict()

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
                "participant": participant,
            }
        )
        if metadata is not UNSET:
            field_dict["metadata"] = metadata
        if sequence is not UNSET:
            field_dict["sequence"] = sequence

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.participant_changed_data_metadata import (
            ParticipantChangedDataMetadata,
        )
        from ..models.webhook_participant import WebhookParticipant

        d = dict(src_dict)
        event = ParticipantChangedDataEvent(d.pop("event"))

        job_id = UUID(d.pop("jobId"))

        external_id = d.pop("externalId")

        participant = WebhookParticipant.from_dict(d.pop("participant"))

        _metadata = d.pop("metadata", UNSET)
        metadata: ParticipantChangedDataMetadata | Unset
        if isinstance(_metadata, Unset):
            metadata = UNSET
        else:
            metadata = ParticipantChangedDataMetadata.from_dict(_metadata)

        sequence = d.pop("sequence", UNSET)

        participant_changed_data = cls(
            event=event,
            job_id=job_id,
            external_id=external_id,
            participant=participant,
            metadata=metadata,
            sequence=sequence,
        )

        participant_changed_data.additional_properties = d
        return participant_changed_data

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
