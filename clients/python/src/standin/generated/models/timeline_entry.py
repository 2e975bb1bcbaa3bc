from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from dateutil.parser import isoparse

from ..models.job_status import JobStatus
from ..models.timeline_entry_reason_type_1 import TimelineEntryReasonType1
from ..models.timeline_entry_reason_type_2_type_1 import TimelineEntryReasonType2Type1
from ..models.timeline_entry_reason_type_3_type_1 import TimelineEntryReasonType3Type1
from ..models.timeline_entry_source import TimelineEntrySource

if TYPE_CHECKING:
    from ..models.timeline_entry_data import TimelineEntryData


T = TypeVar("T", bound="TimelineEntry")


@_attrs_define
class TimelineEntry:
    """An event in the timeline of a job.

    Attributes:
        id (UUID): The ID of the entry.
        attempt (int): The number of the attempt, starting at 0.
        source (TimelineEntrySource): The origin of the entry.
        kind (str): For entries of a bot, the kind of the ingest event. For entries of the service: `no_capacity`,
            `attempt_started`,
            `salvage_started`, `salvage_packing`, `salvage_storing`, `cancel`, `job_failed`, `manifest.finalized`,
            `bot_launched`, `sign_in` (with the `account` and why, or why there is none as `reason`), `launch_failed` (with
            the reason as `detail`; the launch continues), `command_queued`, `command_done` (executed) and `command_failed`
            (with the `reason`) for each command, `stream_connected`, `stream_disconnected` and `stream_failed` (with
            `stream`, `host` and `reason`), `job_changed`, `recording_finished`, `recording_deleted`,
            `transcript_requested`, `transcript_retrying`, `transcript_attached`, `transcript_failed`, `video_attached`,
            `video_failed` (of the
            composed picture), `live_transcript_failed`, `live_transcript_ended`. New kinds may be added.
        emitted_at (datetime.datetime): When the event happened.
        received_at (datetime.datetime): When the service received it.
        applied (bool): Whether the event was applied to the job.
        reason (None | TimelineEntryReasonType1 | TimelineEntryReasonType2Type1 | TimelineEntryReasonType3Type1): Why
            the event was not applied, or null if it was.
        from_ (JobStatus): The status of a job. `completed`, `failed` and `cancelled` are final.
        to (JobStatus): The status of a job. `completed`, `failed` and `cancelled` are final.
        data (TimelineEntryData): Details of the event.
    """

    id: UUID
    attempt: int
    source: TimelineEntrySource
    kind: str
    emitted_at: datetime.datetime
    received_at: datetime.datetime
    applied: bool
    reason: None | TimelineEntryReasonType1 | TimelineEntryReasonType2Type1 | TimelineEntryReasonType3Type1
    from_: JobStatus
    to: JobStatus
    data: TimelineEntryData
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = str(self.id)

        attempt = self.attempt

        source = self.source.value

        kind = self.kind

        emitted_at = self.emitted_at.isoformat()

        received_at = self.received_at.isoformat()

        applied = self.applied

        reason: None | str
        if isinstance(self.reason, TimelineEntryReasonType1):
            reason = self.reason.value
        elif isinstance(self.reason, TimelineEntryReasonType2Type1):
            reason = self.reason.value
        elif isinstance(self.reason, TimelineEntryReasonType3Type1):
            reason = self.reason.value
        else:
            reason = self.reason

        from_ = self.from_.value

        to = self.to.value

        data = self.data.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "attempt": attempt,
                "source": source,
                "kind": kind,
                "emittedAt": emitted_at,
                "receivedAt": received_at,
                "applied": applied,
                "reason": reason,
                "from": from_,
                "to": to,
                "data": data,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.timeline_entry_data import TimelineEntryData

        d = dict(src_dict)
        id = UUID(d.pop("id"))

        attempt = d.pop("attempt")

        source = TimelineEntrySource(d.pop("source"))

        kind = d.pop("kind")

        emitted_at = isoparse(d.pop("emittedAt"))

        received_at = isoparse(d.pop("receivedAt"))

        applied = d.pop("applied")

        def _parse_reason(
            data: object,
        ) -> None | TimelineEntryReasonType1 | TimelineEntryReasonType2Type1 | TimelineEntryReasonType3Type1:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                reason_type_1 = TimelineEntryReasonType1(data)

                return reason_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, str):
                    raise TypeError()
                reason_type_2_type_1 = TimelineEntryReasonType2Type1(data)

                return reason_type_2_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, str):
                    raise TypeError()
                reason_type_3_type_1 = TimelineEntryReasonType3Type1(data)

                return reason_type_3_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(
                None | TimelineEntryReasonType1 | TimelineEntryReasonType2Type1 | TimelineEntryReasonType3Type1, data
            )

        reason = _parse_reason(d.pop("reason"))

        from_ = JobStatus(d.pop("from"))

        to = JobStatus(d.pop("to"))

        data = TimelineEntryData.from_dict(d.pop("data"))

        timeline_entry = cls(
            id=id,
            attempt=attempt,
            source=source,
            kind=kind,
            emitted_at=emitted_at,
            received_at=received_at,
            applied=applied,
            reason=reason,
            from_=from_,
            to=to,
            data=data,
        )

        timeline_entry.additional_properties = d
        return timeline_entry

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
