from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="MediaFault")


@_attrs_define
class MediaFault:
    """An interval with faulty media.

    Attributes:
        kind (str): no_sound: digital silence, although others spoke or never sent any sound. frozen_picture: the
            picture did not change, although video was received. no_captions, no_chat: the page did not show them, although
            the job wants them. New codes may be added.
        start_ms (int): The offset of the start, in milliseconds.
        end_ms (int): The offset of the end, in milliseconds.
    """

    kind: str
    start_ms: int
    end_ms: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        kind = self.kind

        start_ms = self.start_ms

        end_ms = self.end_ms

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "kind": kind,
                "startMs": start_ms,
                "endMs": end_ms,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        kind = d.pop("kind")

        start_ms = d.pop("startMs")

        end_ms = d.pop("endMs")

        media_fault = cls(
            kind=kind,
            start_ms=start_ms,
            end_ms=end_ms,
        )

        media_fault.additional_properties = d
        return media_fault

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
