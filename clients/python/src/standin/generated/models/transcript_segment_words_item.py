from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="TranscriptSegmentWordsItem")


@_attrs_define
class TranscriptSegmentWordsItem:
    """A word.

    Attributes:
        start_ms (int): The start.
        end_ms (int): The end.
        text (str): The word with its punctuation.
        confidence (float | Unset): The confidence of the recognizer. Missing if unknown.
    """

    start_ms: int
    end_ms: int
    text: str
    confidence: float | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        start_ms = self.start_ms

        end_ms = self.end_ms

        text = self.text

        confidence = self.confidence

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "startMs": start_ms,
                "endMs": end_ms,
                "text": text,
            }
        )
        if confidence is not UNSET:
            field_dict["confidence"] = confidence

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        start_ms = d.pop("startMs")

        end_ms = d.pop("endMs")

        text = d.pop("text")

        confidence = d.pop("confidence", UNSET)

        transcript_segment_words_item = cls(
            start_ms=start_ms,
            end_ms=end_ms,
            text=text,
            confidence=confidence,
        )

        transcript_segment_words_item.additional_properties = d
        return transcript_segment_words_item

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
