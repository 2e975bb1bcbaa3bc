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

from ..models.bot_output_version import BotOutputVersion
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.bot_output_data import BotOutputData


T = TypeVar("T", bound="BotOutput")


@_attrs_define
class BotOutput:
    """A sound or picture of the bot has started, finished or failed.

    Attributes:
        delivery_id (str): The ID of the delivery, the same for all attempts. Use it to discard duplicates.
        event (Literal['bot.output']): Always `bot.output`.
        emitted_at (datetime.datetime): When the event happened.
        attempt (int): The number of this attempt, starting at 1.
        data (BotOutputData): The data of `bot.output`.
        version (BotOutputVersion | Unset): The version of the payload. Version 1 omits it.
    """

    delivery_id: str
    event: Literal["bot.output"]
    emitted_at: datetime.datetime
    attempt: int
    data: BotOutputData
    version: BotOutputVersion | Unset = UNSET
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
        from ..models.bot_output_data import BotOutputData

        d = dict(src_dict)
        delivery_id = d.pop("deliveryId")

        event = cast(Literal["bot.output"], d.pop("event"))

        emitted_at = isoparse(d.pop("emittedAt"))

        attempt = d.pop("attempt")

        data = BotOutputData.from_dict(d.pop("data"))

        _version = d.pop("version", UNSET)
        version: BotOutputVersion | Unset
        if isinstance(_version, Unset):
            version = UNSET
        else:
            version = BotOutputVersion(_version)

        bot_output = cls(
            delivery_id=delivery_id,
            event=event,
            emitted_at=emitted_at,
            attempt=attempt,
            data=data,
            version=version,
        )

        bot_output.additional_properties = d
        return bot_output

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
