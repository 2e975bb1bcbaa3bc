from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="TranscriptOptions")


@_attrs_define
class TranscriptOptions:
    """The transcript that the service makes of the meeting, if its operator has configured a transcriber.

    Attributes:
        enabled (bool | Unset): Whether to transcribe the recording. Default: true.
        language (str | Unset): The language that is spoken, as a BCP 47 tag. By default the service's setting, or else
            detected.
        live (bool | Unset): Whether the meeting is also transcribed while it runs, with the events `transcript` of
            `liveJob`. Default:
            false. It has no effect unless the service's operator has configured a live transcriber.
        keyterms (list[str] | Unset): Words and names that are likely to be said. Recognizers take them as a hint.
    """

    enabled: bool | Unset = UNSET
    language: str | Unset = UNSET
    live: bool | Unset = UNSET
    keyterms: list[str] | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        enabled = self.enabled

        language = self.language

        live = self.live

        keyterms: list[str] | Unset = UNSET
        if not isinstance(self.keyterms, Unset):
            keyterms = self.keyterms

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({})
        if enabled is not UNSET:
            field_dict["enabled"] = enabled
        if language is not UNSET:
            field_dict["language"] = language
        if live is not UNSET:
            field_dict["live"] = live
        if keyterms is not UNSET:
            field_dict["keyterms"] = keyterms

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        enabled = d.pop("enabled", UNSET)

        language = d.pop("language", UNSET)

        live = d.pop("live", UNSET)

        keyterms = cast(list[str], d.pop("keyterms", UNSET))

        transcript_options = cls(
            enabled=enabled,
            language=language,
            live=live,
            keyterms=keyterms,
        )

        transcript_options.additional_properties = d
        return transcript_options

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
