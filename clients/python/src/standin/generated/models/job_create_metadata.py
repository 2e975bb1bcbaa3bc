from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="JobCreateMetadata")


@_attrs_define
class JobCreateMetadata:
    """Any object, up to 256 KiB as JSON. It is included in the job and in webhooks. Some keys are aliases of options and
    apply if the option itself is not set: `title`, `recordingMode` (`recording.mode`), `participantAudio`
    (`recording.participantAudio`), `captions` (`captions.enabled`), `captionsLanguage` (`captions.language`), `chat`,
    `transcript` (`transcript.enabled`), `recordingPermission` (`consent.required`) and, with test keys, `simulate`. A
    value of them that cannot be used is ignored, and the header `X-Standin-Warning` names the key; but
    `recordingPermission` with any other value than `false` counts as true.

    """

    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        job_create_metadata = cls()

        job_create_metadata.additional_properties = d
        return job_create_metadata

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
