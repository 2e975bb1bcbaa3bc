from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.transcript_segment_source import TranscriptSegmentSource
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.transcript_segment_words_item import TranscriptSegmentWordsItem


T = TypeVar("T", bound="TranscriptSegment")


@_attrs_define
class TranscriptSegment:
    """A section of speech of one speaker.

    Attributes:
        start_ms (int): The start.
        end_ms (int): The end.
        text (str): Plain text, not markup.
        source (TranscriptSegmentSource): `participant_audio`: the audio of one participant. `mixed`: the audio of the
            meeting, with speakers by the
            `speech` of the manifest. `captions`: the captions of the meeting platform. `live`: what the live transcriber
            heard.
        participant_id (str | Unset): The ID of the participant in the manifest. Missing if unknown.
        speaker (str | Unset): The name of the speaker. Missing if unknown.
        confidence (float | Unset): The confidence of the recognizer. Missing if unknown.
        unconfirmed (bool | Unset): True if the manifest shows nobody who spoke at that time: the recognizer may have
            invented the text. Otherwise
            missing.
        words (list[TranscriptSegmentWordsItem] | Unset): The words. Missing if the recognizer does not report them.
    """

    start_ms: int
    end_ms: int
    text: str
    source: TranscriptSegmentSource
    participant_id: str | Unset = UNSET
    speaker: str | Unset = UNSET
    confidence: float | Unset = UNSET
    unconfirmed: bool | Unset = UNSET
    words: list[TranscriptSegmentWordsItem] | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        start_ms = self.start_ms

        end_ms = self.end_ms

        text = self.text

        source = self.source.value

        participant_id = self.participant_id

        speaker = self.speaker

        confidence = self.confidence

        unconfirmed = self.unconfirmed

        words: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.words, Unset):
            words = []
            for words_item_data in self.words:
                words_item = words_item_data.to_dict()
                words.append(words_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "startMs": start_ms,
                "endMs": end_ms,
                "text": text,
                "source": source,
            }
        )
        if participant_id is not UNSET:
            field_dict["participantId"] = participant_id
        if speaker is not UNSET:
            field_dict["speaker"] = speaker
        if confidence is not UNSET:
            field_dict["confidence"] = confidence
        if unconfirmed is not UNSET:
            field_dict["unconfirmed"] = unconfirmed
        if words is not UNSET:
            field_dict["words"] = words

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.transcript_segment_words_item import TranscriptSegmentWordsItem

        d = dict(src_dict)
        start_ms = d.pop("startMs")

        end_ms = d.pop("endMs")

        text = d.pop("text")

        source = TranscriptSegmentSource(d.pop("source"))

        participant_id = d.pop("participantId", UNSET)

        speaker = d.pop("speaker", UNSET)

        confidence = d.pop("confidence", UNSET)

        unconfirmed = d.pop("unconfirmed", UNSET)

        _words = d.pop("words", UNSET)
        words: list[TranscriptSegmentWordsItem] | Unset = UNSET
        if _words is not UNSET:
            words = []
            for words_item_data in _words:
                words_item = TranscriptSegmentWordsItem.from_dict(words_item_data)

                words.append(words_item)

        transcript_segment = cls(
            start_ms=start_ms,
            end_ms=end_ms,
            text=text,
            source=source,
            participant_id=participant_id,
            speaker=speaker,
            confidence=confidence,
            unconfirmed=unconfirmed,
            words=words,
        )

        transcript_segment.additional_properties = d
        return transcript_segment

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
