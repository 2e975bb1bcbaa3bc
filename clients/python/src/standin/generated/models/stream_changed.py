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

from ..models.stream_changed_version import StreamChangedVersion
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.stream_changed_data import StreamChangedData


T = TypeVar("T", bound="StreamChanged")


@_attrs_define
class StreamChanged:
    """A stream was connected or lost.

    Attributes:
        delivery_id (str): The ID of the delivery, the same for all attempts. Use it to discard duplicates.
        event (Literal['bot.stream_changed']): Always `bot.stream_changed`.
        emitted_at (datetime.datetime): When the event happened.
        attempt (int): The number of this attempt, starting at 1.
        data (StreamChangedData): The data of `bot.stream_changed`.
        version (StreamChangedVersion | Unset): The version of the payload. Version 1 omits it.
    """

    delivery_id: str
    event: Literal["bot.stream_changed"]
    emitted_at: datetime.datetime
    attempt: int
    data: StreamChangedData
    version: StreamChangedVersion | Unset = UNSET
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
        from ..models.stream_changed_data import StreamChangedData

        d = dict(src_dict)
        delivery_id = d.pop("deliveryId")

        event = cast(Literal["bot.stream_changed"], d.pop("event"))

        emitted_at = isoparse(d.pop("emittedAt"))

        attempt = d.pop("attempt")

        data = StreamChangedData.from_dict(d.pop("data"))

        _version = d.pop("version", UNSET)
        version: StreamChangedVersion | Unset
        if isinstance(_version, Unset):
            version = UNSET
        else:
            version = StreamChangedVersion(_version)

        stream_changed = cls(
            delivery_id=delivery_id,
            event=event,
            emitted_at=emitted_at,
            attempt=attempt,
            data=data,
            version=version,
        )

        stream_changed.additional_properties = d
        return stream_changed

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
