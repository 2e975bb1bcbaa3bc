from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from dateutil.parser import isoparse

if TYPE_CHECKING:
    from ..models.webhook_word import WebhookWord


T = TypeVar("T", bound="WebhookSegment")


@_attrs_define
class WebhookSegment:
    """A segment of the live transcript. It does not change any more.

    Attributes:
        id (str): The ID of the segment.
        participant_id (str): The ID of the speaker. Empty if it is unknown.
        speaker (str): The name of the speaker. Empty if it is unknown.
        text (str): What was said.
        language (str): The language, as in BCP 47. Empty if it is unknown.
        start_ms (int): When it began, in milliseconds since the start of the recording.
        end_ms (int): When it ended, in milliseconds since the start of the recording.
        started_at (datetime.datetime): When it began.
        words (list[WebhookWord]): The words.
    """

    id: str
    participant_id: str
    speaker: str
    text: str
    language: str
    start_ms: int
    end_ms: int
    started_at: datetime.datetime
    words: list[WebhookWord]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        participant_id = self.participant_id

        speaker = self.speaker

        text = self.text

        language = self.language

        start_ms = self.start_ms

        end_ms = self.end_ms

        started_at = self.started_at.isoformat()

        words = []
        for words_item_data in self.words:
            words_item = words_item_data.to_dict()
            words.append(words_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "participantId": participant_id,
                "speaker": speaker,
                "text": text,
                "language": language,
                "startMs": start_ms,
                "endMs": end_ms,
                "startedAt": started_at,
                "words": words,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.webhook_word import WebhookWord

        d = dict(src_dict)
        id = d.pop("id")

        participant_id = d.pop("participantId")

        speaker = d.pop("speaker")

        text = d.pop("text")

        language = d.pop("language")

        start_ms = d.pop("startMs")

        end_ms = d.pop("endMs")

        started_at = isoparse(d.pop("startedAt"))

        words = []
        _words = d.pop("words")
        for words_item_data in _words:
            words_item = WebhookWord.from_dict(words_item_data)

            words.append(words_item)

        webhook_segment = cls(
            id=id,
            participant_id=participant_id,
            speaker=speaker,
            text=text,
            language=language,
            start_ms=start_ms,
            end_ms=end_ms,
            started_at=started_at,
            words=words,
        )

        webhook_segment.additional_properties = d
        return webhook_segment

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
