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

from ..models.text_file_kind import TextFileKind

if TYPE_CHECKING:
    from ..models.meeting_text import MeetingText


T = TypeVar("T", bound="TextFile")


@_attrs_define
class TextFile:
    """The content of chat.json and captions.json, version 1. The texts are plain text as participants wrote them or as the
    platform's live captions showed them: escape them before you show them as HTML.

        Attributes:
            schema_version (Literal[1]): The schema version.
            job_id (UUID): The ID of the job.
            kind (TextFileKind): chat for chat.json, captions for captions.json.
            texts (list[MeetingText]): The chat messages or captions, in the order in which they began.
    """

    schema_version: Literal[1]
    job_id: UUID
    kind: TextFileKind
    texts: list[MeetingText]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        schema_version = self.schema_version

        job_id = str(self.job_id)

        kind = self.kind.value

        texts = []
        for texts_item_data in self.texts:
            texts_item = texts_item_data.to_dict()
            texts.append(texts_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "schemaVersion": schema_version,
                "jobId": job_id,
                "kind": kind,
                "texts": texts,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.meeting_text import MeetingText

        d = dict(src_dict)
        schema_version = cast(Literal[1], d.pop("schemaVersion"))

        job_id = UUID(d.pop("jobId"))

        kind = TextFileKind(d.pop("kind"))

        texts = []
        _texts = d.pop("texts")
        for texts_item_data in _texts:
            texts_item = MeetingText.from_dict(texts_item_data)

            texts.append(texts_item)

        text_file = cls(
            schema_version=schema_version,
            job_id=job_id,
            kind=kind,
            texts=texts,
        )

        text_file.additional_properties = d
        return text_file

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
