from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="OutputOnJoin")


@_attrs_define
class OutputOnJoin:
    """What the bot plays when it is admitted. Either `uri` or `text` is required.

    Attributes:
        uri (str | Unset): The http or https URL of an audio file. The service fetches it when the bot is admitted.
        text (str | Unset): A text to speak. The service needs a speech server.
        voice (str | Unset): A voice of the speech server. By default, the operator's.
        language (str | Unset): The language of the text as a BCP 47 tag, for speech servers that take one.
    """

    uri: str | Unset = UNSET
    text: str | Unset = UNSET
    voice: str | Unset = UNSET
    language: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        uri = self.uri

        text = self.text

        voice = self.voice

        language = self.language

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({})
        if uri is not UNSET:
            field_dict["uri"] = uri
        if text is not UNSET:
            field_dict["text"] = text
        if voice is not UNSET:
            field_dict["voice"] = voice
        if language is not UNSET:
            field_dict["language"] = language

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        uri = d.pop("uri", UNSET)

        text = d.pop("text", UNSET)

        voice = d.pop("voice", UNSET)

        language = d.pop("language", UNSET)

        output_on_join = cls(
            uri=uri,
            text=text,
            voice=voice,
            language=language,
        )

        output_on_join.additional_properties = d
        return output_on_join

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
