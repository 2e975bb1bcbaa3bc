from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="WebhookTestResult")


@_attrs_define
class WebhookTestResult:
    """The response of an endpoint to a test event.

    Attributes:
        event (str): The name of the event.
        acknowledged (bool): Whether the status is 2xx.
        status (int | None): The status of the response, or null if there was none.
        latency_ms (int): The duration of the request in milliseconds.
        error (None | str): Why there was no response, or null.
        response_body (str): The first KiB of the response body as UTF-8 text. Empty if the address is not public.
    """

    event: str
    acknowledged: bool
    status: int | None
    latency_ms: int
    error: None | str
    response_body: str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        event = self.event

        acknowledged = self.acknowledged

        status: int | None
        status = self.status

        latency_ms = self.latency_ms

        error: None | str
        error = self.error

        response_body = self.response_body

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "event": event,
                "acknowledged": acknowledged,
                "status": status,
                "latencyMs": latency_ms,
                "error": error,
                "responseBody": response_body,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        event = d.pop("event")

        acknowledged = d.pop("acknowledged")

        def _parse_status(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        status = _parse_status(d.pop("status"))

        latency_ms = d.pop("latencyMs")

        def _parse_error(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        error = _parse_error(d.pop("error"))

        response_body = d.pop("responseBody")

        webhook_test_result = cls(
            event=event,
            acknowledged=acknowledged,
            status=status,
            latency_ms=latency_ms,
            error=error,
            response_body=response_body,
        )

        webhook_test_result.additional_properties = d
        return webhook_test_result

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
