from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="JobRecording")


@_attrs_define
class JobRecording:
    """The links of a recording. Requests need an API key of the consumer.

    Attributes:
        manifest_uri (str): The URL of the manifest.
        media_uri (None | str): The URL of the first video file, or else of the first file with the mixed audio, or
            null.
        partial (bool): Whether media is missing.
        bytes_ (int): The size of its files.
    """

    manifest_uri: str
    media_uri: None | str
    partial: bool
    bytes_: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        manifest_uri = self.manifest_uri

        media_uri: None | str
        media_uri = self.media_uri

        partial = self.partial

        bytes_ = self.bytes_

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "manifestUri": manifest_uri,
                "mediaUri": media_uri,
                "partial": partial,
                "bytes": bytes_,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        manifest_uri = d.pop("manifestUri")

        def _parse_media_uri(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        media_uri = _parse_media_uri(d.pop("mediaUri"))

        partial = d.pop("partial")

        bytes_ = d.pop("bytes")

        job_recording = cls(
            manifest_uri=manifest_uri,
            media_uri=media_uri,
            partial=partial,
            bytes_=bytes_,
        )

        job_recording.additional_properties = d
        return job_recording

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
