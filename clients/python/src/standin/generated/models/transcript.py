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
    from ..models.transcript_segment import TranscriptSegment


T = TypeVar("T", bound="Transcript")


@_attrs_define
class Transcript:
    """What was said in a meeting. Times are milliseconds since the start of the recording, as in the manifest.

    Attributes:
        schema_version (Literal[1]): The schema version.
        job_id (UUID): The ID of the job.
        partial (bool): Whether audio beyond the limit of a job was not transcribed.
        segments (list[TranscriptSegment]): The sections of speech, by startMs.
        language (str | Unset): The language, as the recognizer or the captions name it. Missing if unknown.
        model (str | Unset): The model of the recognizer. Missing for captions.
    """

    schema_version: Literal[1]
    job_id: UUID
    partial: bool
    segments: list[TranscriptSegment]
    language: str | Unset = UNSET
    model: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        schema_version = self.schema_version

        job_id = str(self.job_id)

        partial = self.partial

        segments = []
        for segments_item_data in self.segments:
            segments_item = segments_item_data.to_dict()
            segments.append(segments_item)

        language = self.language

        model = self.model

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "schemaVersion": schema_version,
                "jobId": job_id,
                "partial": partial,
                "segments": segments,
            }
        )
        if language is not UNSET:
            field_dict["language"] = language
        if model is not UNSET:
            field_dict["model"] = model

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.transcript_segment import TranscriptSegment

        d = dict(src_dict)
        schema_version = cast(Literal[1], d.pop("schemaVersion"))

        job_id = UUID(d.pop("jobId"))

        partial = d.pop("partial")

        segments = []
        _segments = d.pop("segments")
        for segments_item_data in _segments:
            segments_item = TranscriptSegment.from_dict(segments_item_data)

            segments.append(segments_item)

        language = d.pop("language", UNSET)

        model = d.pop("model", UNSET)

        transcript = cls(
            schema_version=schema_version,
            job_id=job_id,
            partial=partial,
            segments=segments,
            language=language,
            model=model,
        )

        transcript.additional_properties = d
        return transcript

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
