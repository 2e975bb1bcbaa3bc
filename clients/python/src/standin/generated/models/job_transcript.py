from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="JobTranscript")


@_attrs_define
class JobTranscript:
    """The link of a transcript. Requests need an API key of the consumer.

    Attributes:
        uri (str): The URL of the transcript.
        source (str): Where the text is from: `transcriber`, or `captions` of the meeting platform.
        words (int | Unset): The number of words of a transcriber, which spaces separate.
    """

    uri: str
    source: str
    words: int | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        uri = self.uri

        source = self.source

        words = self.words

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "uri": uri,
                "source": source,
            }
        )
        if words is not UNSET:
            field_dict["words"] = words

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        uri = d.pop("uri")

        source = d.pop("source")

        words = d.pop("words", UNSET)

        job_transcript = cls(
            uri=uri,
            source=source,
            words=words,
        )

        job_transcript.additional_properties = d
        return job_transcript

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
