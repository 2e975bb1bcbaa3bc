from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="TranscriptionRequest")


@_attrs_define
class TranscriptionRequest:
    """How to transcribe a recording again.

    Attributes:
        model (str | Unset): The model of the transcriber. Defaults to the service's setting.
        language (str | Unset): The spoken language, as a BCP 47 tag. Defaults to the job's option.
        keyterms (list[str] | Unset): Words and names that are likely to be said. Recognizers take them as a hint.
    """

    model: str | Unset = UNSET
    language: str | Unset = UNSET
    keyterms: list[str] | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        model = self.model

        language = self.language

        keyterms: list[str] | Unset = UNSET
        if not isinstance(self.keyterms, Unset):
            keyterms = self.keyterms

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({})
        if model is not UNSET:
            field_dict["model"] = model
        if language is not UNSET:
            field_dict["language"] = language
        if keyterms is not UNSET:
            field_dict["keyterms"] = keyterms

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        model = d.pop("model", UNSET)

        language = d.pop("language", UNSET)

        keyterms = cast(list[str], d.pop("keyterms", UNSET))

        transcription_request = cls(
            model=model,
            language=language,
            keyterms=keyterms,
        )

        transcription_request.additional_properties = d
        return transcription_request

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
