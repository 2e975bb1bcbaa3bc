from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from dateutil.parser import isoparse

from ..models.ingest_text_kind import IngestTextKind
from ..types import UNSET, Unset

T = TypeVar("T", bound="IngestText")


@_attrs_define
class IngestText:
    """A chat message or a caption.

    Attributes:
        id (str): The ID of the text, chosen by the bot and unique within its attempt and kind.
        kind (IngestTextKind): The kind of the text.
        text (str): Plain text. Markup has no meaning. A longer text is cut.
        started_at (datetime.datetime): When the message appeared or the caption began.
        ended_at (datetime.datetime): When the caption was last extended. Values before `startedAt` count as
            `startedAt`.
        participant_id (str | Unset): The ID of the author in the roster of the attempt, or an empty string if it is
            unknown.
        author (str | Unset): The name of the author as shown on the page, or an empty string if it is unknown.
        language (str | Unset): The language of a caption as a BCP 47 tag, or an empty string if it is unknown.
    """

    id: str
    kind: IngestTextKind
    text: str
    started_at: datetime.datetime
    ended_at: datetime.datetime
    participant_id: str | Unset = UNSET
    author: str | Unset = UNSET
    language: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        kind = self.kind.value

        text = self.text

        started_at = self.started_at.isoformat()

        ended_at = self.ended_at.isoformat()

        participant_id = self.participant_id

        author = self.author

        language = self.language

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "kind": kind,
                "text": text,
                "startedAt": started_at,
                "endedAt": ended_at,
            }
        )
        if participant_id is not UNSET:
            field_dict["participantId"] = participant_id
        if author is not UNSET:
            field_dict["author"] = author
        if language is not UNSET:
            field_dict["language"] = language

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = d.pop("id")

        kind = IngestTextKind(d.pop("kind"))

        text = d.pop("text")

        started_at = isoparse(d.pop("startedAt"))

        ended_at = isoparse(d.pop("endedAt"))

        participant_id = d.pop("participantId", UNSET)

        author = d.pop("author", UNSET)

        language = d.pop("language", UNSET)

        ingest_text = cls(
            id=id,
            kind=kind,
            text=text,
            started_at=started_at,
            ended_at=ended_at,
            participant_id=participant_id,
            author=author,
            language=language,
        )

        ingest_text.additional_properties = d
        return ingest_text

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
