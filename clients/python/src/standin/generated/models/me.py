from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.me_consumer import MeConsumer
    from ..models.me_key import MeKey
    from ..models.me_service import MeService


T = TypeVar("T", bound="Me")


@_attrs_define
class Me:
    """An API key, its consumer, and the service.

    Attributes:
        consumer (MeConsumer): The team that owns the key and its jobs.
        key (MeKey): The key of this request.
        service (MeService): The service.
    """

    consumer: MeConsumer
    key: MeKey
    service: MeService
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        consumer = self.consumer.to_dict()

        key = self.key.to_dict()

        service = self.service.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "consumer": consumer,
                "key": key,
                "service": service,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.me_consumer import MeConsumer
        from ..models.me_key import MeKey
        from ..models.me_service import MeService

        d = dict(src_dict)
        consumer = MeConsumer.from_dict(d.pop("consumer"))

        key = MeKey.from_dict(d.pop("key"))

        service = MeService.from_dict(d.pop("service"))

        me = cls(
            consumer=consumer,
            key=key,
            service=service,
        )

        me.additional_properties = d
        return me

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
