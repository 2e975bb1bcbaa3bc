from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from dateutil.parser import isoparse

from ..models.text_match_kind import TextMatchKind

T = TypeVar("T", bound="TextMatch")


@_attrs_define
class TextMatch:
    """A text that matches a search.

    Attributes:
        job_id (UUID): The ID of the job.
        job_created_at (datetime.datetime): When the job was created.
        meeting_url (str): The meeting link of the job.
        kind (TextMatchKind): The kind of text.
        start_ms (int): Milliseconds since the start of the recording.
        speaker (str): The name of the speaker or author. Empty if unknown.
        text (str): Plain text, not markup.
    """

    job_id: UUID
    job_created_at: datetime.datetime
    meeting_url: str
    kind: TextMatchKind
    start_ms: int
    speaker: str
    text: str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        job_id = str(self.job_id)

        job_created_at = self.job_created_at.isoformat()

        meeting_url = self.meeting_url

        kind = self.kind.value

        start_ms = self.start_ms

        speaker = self.speaker

        text = self.text

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "jobId": job_id,
                "jobCreatedAt": job_created_at,
                "meetingUrl": meeting_url,
                "kind": kind,
                "startMs": start_ms,
                "speaker": speaker,
                "text": text,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        job_id = UUID(d.pop("jobId"))

        job_created_at = isoparse(d.pop("jobCreatedAt"))

        meeting_url = d.pop("meetingUrl")

        kind = TextMatchKind(d.pop("kind"))

        start_ms = d.pop("startMs")

        speaker = d.pop("speaker")

        text = d.pop("text")

        text_match = cls(
            job_id=job_id,
            job_created_at=job_created_at,
            meeting_url=meeting_url,
            kind=kind,
            start_ms=start_ms,
            speaker=speaker,
            text=text,
        )

        text_match.additional_properties = d
        return text_match

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
