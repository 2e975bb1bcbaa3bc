from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from dateutil.parser import isoparse

T = TypeVar("T", bound="DeliveryTry")


@_attrs_define
class DeliveryTry:
    """The result of an attempt to deliver a webhook.

    Attributes:
        number (int): The `attempt` in the body of the webhook.
        started_at (datetime.datetime): When the attempt started.
        latency_ms (int): The duration of the attempt in milliseconds.
        status (int | None): The status of the response, or null if there was none.
        error (None | str): Why the attempt failed, if the status does not explain it, or null.
        response_body (str): The first KiB of the response body as UTF-8 text. Empty if the address is not public.
    """

    number: int
    started_at: datetime.datetime
    latency_ms: int
    status: int | None
    error: None | str
    response_body: str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        number = self.number

        started_at = self.started_at.isoformat()

        latency_ms = self.latency_ms

        status: int | None
        status = self.status

        error: None | str
        error = self.error

        response_body = self.response_body

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "number": number,
                "startedAt": started_at,
                "latencyMs": latency_ms,
                "status": status,
                "error": error,
                "responseBody": response_body,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        number = d.pop("number")

        started_at = isoparse(d.pop("startedAt"))

        latency_ms = d.pop("latencyMs")

        def _parse_status(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        status = _parse_status(d.pop("status"))

        def _parse_error(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        error = _parse_error(d.pop("error"))

        response_body = d.pop("responseBody")

        delivery_try = cls(
            number=number,
            started_at=started_at,
            latency_ms=latency_ms,
            status=status,
            error=error,
            response_body=response_body,
        )

        delivery_try.additional_properties = d
        return delivery_try

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
