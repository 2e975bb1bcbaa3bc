from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from dateutil.parser import isoparse

T = TypeVar("T", bound="MeetingText")


@_attrs_define
class MeetingText:
    """A chat message or a caption.

    Attributes:
        participant_id (None | str): The ID of the author in participants of the manifest, or null if it is unknown.
        author (None | str): The name of the author as shown on the page, or null if it is unknown.
        text (str): The text.
        language (None | str): The language of a caption as a BCP 47 tag, or null if it is unknown.
        start_ms (int): When the message appeared or the caption began, in milliseconds since
            timeline.recordingStartedAt of the manifest; 0 for texts from before that time.
        end_ms (int): When the caption was last extended, in milliseconds since timeline.recordingStartedAt of the
            manifest. For a message, the value of startMs.
        started_at (datetime.datetime): When the message appeared or the caption began, in RFC 3339 format, in UTC with
            milliseconds.
    """

    participant_id: None | str
    author: None | str
    text: str
    language: None | str
    start_ms: int
    end_ms: int
    started_at: datetime.datetime
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        participant_id: None | str
        participant_id = self.participant_id

        author: None | str
        author = self.author

        text = self.text

        language: None | str
        language = self.language

        start_ms = self.start_ms

        end_ms = self.end_ms

        started_at = self.started_at.isoformat()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "participantId": participant_id,
                "author": author,
                "text": text,
                "language": language,
                "startMs": start_ms,
                "endMs": end_ms,
                "startedAt": started_at,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_participant_id(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        participant_id = _parse_participant_id(d.pop("participantId"))

        def _parse_author(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        author = _parse_author(d.pop("author"))

        text = d.pop("text")

        def _parse_language(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        language = _parse_language(d.pop("language"))

        start_ms = d.pop("startMs")

        end_ms = d.pop("endMs")

        started_at = isoparse(d.pop("startedAt"))

        meeting_text = cls(
            participant_id=participant_id,
            author=author,
            text=text,
            language=language,
            start_ms=start_ms,
            end_ms=end_ms,
            started_at=started_at,
        )

        meeting_text.additional_properties = d
        return meeting_text

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
