from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    TypeVar,
    cast,
)

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from dateutil.parser import isoparse

from ..models.transcript_data_version import TranscriptDataVersion
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.transcript_data_data import TranscriptDataData


T = TypeVar("T", bound="TranscriptData")


@_attrs_define
class TranscriptData:
    """Somebody has said something.

    Attributes:
        delivery_id (str): The ID of the delivery, the same for all attempts. Use it to discard duplicates.
        event (Literal['transcript.data']): Always `transcript.data`.
        emitted_at (datetime.datetime): When the event happened.
        attempt (int): The number of this attempt, starting at 1.
        data (TranscriptDataData): What was said.
        version (TranscriptDataVersion | Unset): The version of the payload. Version 1 omits it.
    """

    delivery_id: str
    event: Literal["transcript.data"]
    emitted_at: datetime.datetime
    attempt: int
    data: TranscriptDataData
    version: TranscriptDataVersion | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        delivery_id = self.delivery_id

        event = self.event

        emitted_at = self.emitted_at.isoformat()

        attempt = self.attempt

        data = self.data.to_dict()

        version: int | Unset = UNSET
        if not isinstance(self.version, Unset):
            version = self.version.value

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "deliveryId": delivery_id,
                "event": event,
                "emittedAt": emitted_at,
                "attempt": attempt,
                "data": data,
            }
        )
        if version is not UNSET:
            field_dict["version"] = version

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.transcript_data_data import TranscriptDataData

        d = dict(src_dict)
        delivery_id = d.pop("deliveryId")

        event = cast(Literal["transcript.data"], d.pop("event"))

        emitted_at = isoparse(d.pop("emittedAt"))

        attempt = d.pop("attempt")

        data = TranscriptDataData.from_dict(d.pop("data"))

        _version = d.pop("version", UNSET)
        version: TranscriptDataVersion | Unset
        if isinstance(_version, Unset):
            version = UNSET
        else:
            version = TranscriptDataVersion(_version)

        transcript_data = cls(
            delivery_id=delivery_id,
            event=event,
            emitted_at=emitted_at,
            attempt=attempt,
            data=data,
            version=version,
        )

        transcript_data.additional_properties = d
        return transcript_data

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
