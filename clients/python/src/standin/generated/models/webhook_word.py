from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="WebhookWord")


@_attrs_define
class WebhookWord:
    """A word.

    Attributes:
        text (str): The word.
        start_ms (int | Unset): When it began, in milliseconds since the start of the recording. Absent if it is
            unknown.
        end_ms (int | Unset): When it ended, in milliseconds since the start of the recording. Absent if it is unknown.
        confidence (float | Unset): How certain the recognizer is, from 0 to 1. Absent if it does not say.
    """

    text: str
    start_ms: int | Unset = UNSET
    end_ms: int | Unset = UNSET
    confidence: float | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        text = self.text

        start_ms = self.start_ms

        end_ms = self.end_ms

        confidence = self.confidence

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "text": text,
            }
        )
        if start_ms is not UNSET:
            field_dict["startMs"] = start_ms
        if end_ms is not UNSET:
            field_dict["endMs"] = end_ms
        if confidence is not UNSET:
            field_dict["confidence"] = confidence

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        text = d.pop("text")

        start_ms = d.pop("startMs", UNSET)

        end_ms = d.pop("endMs", UNSET)

        confidence = d.pop("confidence", UNSET)

        webhook_word = cls(
            text=text,
            start_ms=start_ms,
            end_ms=end_ms,
            confidence=confidence,
        )

        webhook_word.additional_properties = d
        return webhook_word

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
