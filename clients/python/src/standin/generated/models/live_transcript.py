from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from dateutil.parser import isoparse

from ..models.live_transcript_type import LiveTranscriptType
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.live_transcript_words_item import LiveTranscriptWordsItem


T = TypeVar("T", bound="LiveTranscript")


@_attrs_define
class LiveTranscript:
    """The live transcript of an utterance. Times in milliseconds are relative to the start of the recording, as in the
    manifest.

        Attributes:
            type_ (LiveTranscriptType): The kind of the event.
            id (str): The ID of the utterance. A later event of the same kind with this ID replaces it.
            revision (int): Higher than those of earlier events with this ID.
            final (bool): Whether no other event with this ID follows.
            start_ms (int): The start of the utterance.
            end_ms (int): The end of the sound of the utterance so far.
            text (str): Plain text, not markup. Empty if nothing was said after all.
            words (list[LiveTranscriptWordsItem]): The words.
            confirmed (int): How many of the first words are final.
            started_at (datetime.datetime): When the utterance began.
            ended_at (datetime.datetime): The end of its sound so far.
            participant_id (str | Unset): The ID of the speaker during this attempt. Absent if unknown.
            speaker (str | Unset): The name of the speaker. Absent if unknown.
            language (str | Unset): The language that the job names as a BCP 47 tag. Absent if it names none.
    """

    type_: LiveTranscriptType
    id: str
    revision: int
    final: bool
    start_ms: int
    end_ms: int
    text: str
    words: list[LiveTranscriptWordsItem]
    confirmed: int
    started_at: datetime.datetime
    ended_at: datetime.datetime
    participant_id: str | Unset = UNSET
    speaker: str | Unset = UNSET
    language: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        type_ = self.type_.value

        id = self.id

        revision = self.revision

        final = self.final

        start_ms = self.start_ms

        end_ms = self.end_ms

        text = self.text

        words = []
        for words_item_data in self.words:
            words_item = words_item_data.to_dict()
            words.append(words_item)

        confirmed = self.confirmed

        started_at = self.started_at.isoformat()

        ended_at = self.ended_at.isoformat()

        participant_id = self.participant_id

        speaker = self.speaker

        language = self.language

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "type": type_,
                "id": id,
                "revision": revision,
                "final": final,
                "startMs": start_ms,
                "endMs": end_ms,
                "text": text,
                "words": words,
                "confirmed": confirmed,
                "startedAt": started_at,
                "endedAt": ended_at,
            }
        )
        if participant_id is not UNSET:
            field_dict["participantId"] = participant_id
        if speaker is not UNSET:
            field_dict["speaker"] = speaker
        if language is not UNSET:
            field_dict["language"] = language

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.live_transcript_words_item import LiveTranscriptWordsItem

        d = dict(src_dict)
        type_ = LiveTranscriptType(d.pop("type"))

        id = d.pop("id")

        revision = d.pop("revision")

        final = d.pop("final")

        start_ms = d.pop("startMs")

        end_ms = d.pop("endMs")

        text = d.pop("text")

        words = []
        _words = d.pop("words")
        for words_item_data in _words:
            words_item = LiveTranscriptWordsItem.from_dict(words_item_data)

            words.append(words_item)

        confirmed = d.pop("confirmed")

        started_at = isoparse(d.pop("startedAt"))

        ended_at = isoparse(d.pop("endedAt"))

        participant_id = d.pop("participantId", UNSET)

        speaker = d.pop("speaker", UNSET)

        language = d.pop("language", UNSET)

        live_transcript = cls(
            type_=type_,
            id=id,
            revision=revision,
            final=final,
            start_ms=start_ms,
            end_ms=end_ms,
            text=text,
            words=words,
            confirmed=confirmed,
            started_at=started_at,
            ended_at=ended_at,
            participant_id=participant_id,
            speaker=speaker,
            language=language,
        )

        live_transcript.additional_properties = d
        return live_transcript

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
