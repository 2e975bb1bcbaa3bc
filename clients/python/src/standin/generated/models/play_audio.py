from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="PlayAudio")


@_attrs_define
class PlayAudio:
    """An audio file to play. Either `uri` or `data` is required.

    Attributes:
        uri (str | Unset): The http or https URL of the file. The service fetches it once. It must be on the public
            internet.
        data (str | Unset): The file in base64, up to about 750 kB, because a body has at most 1 MiB.
        interrupt (bool | Unset): Whether to stop the current sound and discard the queued ones first. Default: false.
    """

    uri: str | Unset = UNSET
    data: str | Unset = UNSET
    interrupt: bool | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        uri = self.uri

        data = self.data

        interrupt = self.interrupt

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({})
        if uri is not UNSET:
            field_dict["uri"] = uri
        if data is not UNSET:
            field_dict["data"] = data
        if interrupt is not UNSET:
            field_dict["interrupt"] = interrupt

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        uri = d.pop("uri", UNSET)

        data = d.pop("data", UNSET)

        interrupt = d.pop("interrupt", UNSET)

        play_audio = cls(
            uri=uri,
            data=data,
            interrupt=interrupt,
        )

        play_audio.additional_properties = d
        return play_audio

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
