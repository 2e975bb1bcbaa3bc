from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="VideoGap")


@_attrs_define
class VideoGap:
    """An interval within a file for which there is no video of its participant. The last picture stays.

    Attributes:
        name (str): The name of the file.
        start_ms (int): The offset of the start, in milliseconds.
        end_ms (int): The offset of the end, in milliseconds.
    """

    name: str
    start_ms: int
    end_ms: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        start_ms = self.start_ms

        end_ms = self.end_ms

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "name": name,
                "startMs": start_ms,
                "endMs": end_ms,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        name = d.pop("name")

        start_ms = d.pop("startMs")

        end_ms = d.pop("endMs")

        video_gap = cls(
            name=name,
            start_ms=start_ms,
            end_ms=end_ms,
        )

        video_gap.additional_properties = d
        return video_gap

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
