from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from dateutil.parser import isoparse

from ..models.ingest_event_kind import IngestEventKind
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.ingest_event_data import IngestEventData


T = TypeVar("T", bound="IngestEvent")


@_attrs_define
class IngestEvent:
    """An event of a bot. Events with the same job, attempt, kind and emittedAt are duplicates. Only
    the first one is applied.

        Attributes:
            kind (IngestEventKind): The kind of the event.
            job_id (UUID): The ID of the bot's job.
            attempt (int): The number of the attempt, starting at 0.
            emitted_at (datetime.datetime): When the event happened.
            data (IngestEventData | Unset): Details of the event. The service uses the keys below if their values have the
                described
                type, and stores but ignores all others. `lifecycle.media_fault` has `fault` (no_sound,
                frozen_picture, no_captions, no_chat or no_streams, with `detail`) and `state` (repairing, not_repaired or
                ended), for the timeline. Bots add `screens` to any event: what the meeting page
                showed since the event before, each with `at`, `screen` and its `evidence` (`kind`, `what`,
                `where` and `weight`; see docs/platforms.md). Control characters in free text are removed, and long
                text is cut.
    """

    kind: IngestEventKind
    job_id: UUID
    attempt: int
    emitted_at: datetime.datetime
    data: IngestEventData | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        kind = self.kind.value

        job_id = str(self.job_id)

        attempt = self.attempt

        emitted_at = self.emitted_at.isoformat()

        data: dict[str, Any] | Unset = UNSET
        if not isinstance(self.data, Unset):
            data = self.data.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "kind": kind,
                "jobId": job_id,
                "attempt": attempt,
                "emittedAt": emitted_at,
            }
        )
        if data is not UNSET:
            field_dict["data"] = data

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.ingest_event_data import IngestEventData

        d = dict(src_dict)
        kind = IngestEventKind(d.pop("kind"))

        job_id = UUID(d.pop("jobId"))

        attempt = d.pop("attempt")

        emitted_at = isoparse(d.pop("emittedAt"))

        _data = d.pop("data", UNSET)
        data: IngestEventData | Unset
        if isinstance(_data, Unset):
            data = UNSET
        else:
            data = IngestEventData.from_dict(_data)

        ingest_event = cls(
            kind=kind,
            job_id=job_id,
            attempt=attempt,
            emitted_at=emitted_at,
            data=data,
        )

        ingest_event.additional_properties = d
        return ingest_event

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
