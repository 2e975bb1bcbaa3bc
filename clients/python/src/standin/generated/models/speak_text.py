from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="SpeakText")


@_attrs_define
class SpeakText:
    """A text to speak.

    Attributes:
        text (str): The text. It must not be blank.
        voice (str | Unset): A voice of the speech server. By default that of `STANDIN_SPEECH_VOICE`.
        language (str | Unset): The language as a BCP 47 tag, for speech servers that take one.
        interrupt (bool | Unset): Whether to stop the current sound and discard the queued ones first. Default: false.
    """

    text: str
    voice: str | Unset = UNSET
    language: str | Unset = UNSET
    interrupt: bool | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        text = self.text

        voice = self.voice

        language = self.language

        interrupt = self.interrupt

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "text": text,
            }
        )
        if voice is not UNSET:
            field_dict["voice"] = voice
        if language is not UNSET:
            field_dict["language"] = language
        if interrupt is not UNSET:
            field_dict["interrupt"] = interrupt

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        text = d.pop("text")

        voice = d.pop("voice", UNSET)

        language = d.pop("language", UNSET)

        interrupt = d.pop("interrupt", UNSET)

        speak_text = cls(
            text=text,
            voice=voice,
            language=language,
            interrupt=interrupt,
        )

        speak_text.additional_properties = d
        return speak_text

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
