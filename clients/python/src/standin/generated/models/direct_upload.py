from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="DirectUpload")


@_attrs_define
class DirectUpload:
    """A file that a bot has to upload.

    Attributes:
        job_id (UUID): The ID of the bot's job.
        attempt (int): The number of the attempt, starting at 0.
        name (str): The name of the file.
        bytes_ (int): The size of the file.
        sha256 (str): The SHA-256 of the file in hex.
    """

    job_id: UUID
    attempt: int
    name: str
    bytes_: int
    sha256: str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        job_id = str(self.job_id)

        attempt = self.attempt

        name = self.name

        bytes_ = self.bytes_

        sha256 = self.sha256

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "jobId": job_id,
                "attempt": attempt,
                "name": name,
                "bytes": bytes_,
                "sha256": sha256,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        job_id = UUID(d.pop("jobId"))

        attempt = d.pop("attempt")

        name = d.pop("name")

        bytes_ = d.pop("bytes")

        sha256 = d.pop("sha256")

        direct_upload = cls(
            job_id=job_id,
            attempt=attempt,
            name=name,
            bytes_=bytes_,
            sha256=sha256,
        )

        direct_upload.additional_properties = d
        return direct_upload

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
