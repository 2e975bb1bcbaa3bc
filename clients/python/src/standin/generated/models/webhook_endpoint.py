from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar, cast
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from dateutil.parser import isoparse

from ..models.webhook_endpoint_state import WebhookEndpointState

T = TypeVar("T", bound="WebhookEndpoint")


@_attrs_define
class WebhookEndpoint:
    """A webhook URL with its health.

    Attributes:
        id (UUID): The ID of the endpoint. It depends only on the team and the URL.
        url (str): The URL.
        registered (bool): Whether your team registered it. Otherwise only jobs name the URL.
        events (list[str]): The events that a registered endpoint takes. Empty for other URLs.
        description (str): What the endpoint is for.
        enabled (bool): Whether events are sent to it.
        created_at (datetime.datetime | None): When it was registered, or null.
        state (WebhookEndpointState): `untried` before the first attempt, `answering` if the last attempt was
            acknowledged, `slow` if that took more than a second, `failing` if it was not, `dead` after five failed attempts
            in a row.
        failures (int): The number of failed attempts in a row.
        failing_since (datetime.datetime | None): When the first of these attempts started, or null if there are none.
        last_try_at (datetime.datetime | None): When the last attempt ended, or null. Acknowledged attempts are recorded
            with a precision of one minute.
        latency_ms (int | None): How long that attempt took in milliseconds, or null.
        last_status (int | None): The response status of the last failed attempt, or null if there was none.
        last_error (None | str): Why the last failed attempt failed, if the status does not explain it, or null.
        last_delivered_at (datetime.datetime | None): When an attempt was last acknowledged, with a precision of one
            minute, or null.
        waiting (int): The number of pending webhooks.
        next_try_at (datetime.datetime | None): When the next attempt is due, or when a running attempt counts as lost;
            never in the past. Null if no webhook is pending.
    """

    id: UUID
    url: str
    registered: bool
    events: list[str]
    description: str
    enabled: bool
    created_at: datetime.datetime | None
    state: WebhookEndpointState
    failures: int
    failing_since: datetime.datetime | None
    last_try_at: datetime.datetime | None
    latency_ms: int | None
    last_status: int | None
    last_error: None | str
    last_delivered_at: datetime.datetime | None
    waiting: int
    next_try_at: datetime.datetime | None
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = str(self.id)

        url = self.url

        registered = self.registered

        events = self.events

        description = self.description

        enabled = self.enabled

        created_at: None | str
        if isinstance(self.created_at, datetime.datetime):
            created_at = self.created_at.isoformat()
        else:
            created_at = self.created_at

        state = self.state.value

        failures = self.failures

        failing_since: None | str
        if isinstance(self.failing_since, datetime.datetime):
            failing_since = self.failing_since.isoformat()
        else:
            failing_since = self.failing_since

        last_try_at: None | str
        if isinstance(self.last_try_at, datetime.datetime):
            last_try_at = self.last_try_at.isoformat()
        else:
            last_try_at = self.last_try_at

        latency_ms: int | None
        latency_ms = self.latency_ms

        last_status: int | None
        last_status = self.last_status

        last_error: None | str
        last_error = self.last_error

        last_delivered_at: None | str
        if isinstance(self.last_delivered_at, datetime.datetime):
            last_delivered_at = self.last_delivered_at.isoformat()
        else:
            last_delivered_at = self.last_delivered_at

        waiting = self.waiting

        next_try_at: None | str
        if isinstance(self.next_try_at, datetime.datetime):
            next_try_at = self.next_try_at.isoformat()
        else:
            next_try_at = self.next_try_at

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "url": url,
                "registered": registered,
                "events": events,
                "description": description,
                "enabled": enabled,
                "createdAt": created_at,
                "state": state,
                "failures": failures,
                "failingSince": failing_since,
                "lastTryAt": last_try_at,
                "latencyMs": latency_ms,
                "lastStatus": last_status,
                "lastError": last_error,
                "lastDeliveredAt": last_delivered_at,
                "waiting": waiting,
                "nextTryAt": next_try_at,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = UUID(d.pop("id"))

        url = d.pop("url")

        registered = d.pop("registered")

        events = cast(list[str], d.pop("events"))

        description = d.pop("description")

        enabled = d.pop("enabled")

        def _parse_created_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                created_at_type_0 = isoparse(data)

                return created_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        created_at = _parse_created_at(d.pop("createdAt"))

        state = WebhookEndpointState(d.pop("state"))

        failures = d.pop("failures")

        def _parse_failing_since(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                failing_since_type_0 = isoparse(data)

                return failing_since_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        failing_since = _parse_failing_since(d.pop("failingSince"))

        def _parse_last_try_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                last_try_at_type_0 = isoparse(data)

                return last_try_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        last_try_at = _parse_last_try_at(d.pop("lastTryAt"))

        def _parse_latency_ms(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        latency_ms = _parse_latency_ms(d.pop("latencyMs"))

        def _parse_last_status(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        last_status = _parse_last_status(d.pop("lastStatus"))

        def _parse_last_error(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        last_error = _parse_last_error(d.pop("lastError"))

        def _parse_last_delivered_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                last_delivered_at_type_0 = isoparse(data)

                return last_delivered_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        last_delivered_at = _parse_last_delivered_at(d.pop("lastDeliveredAt"))

        waiting = d.pop("waiting")

        def _parse_next_try_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                next_try_at_type_0 = isoparse(data)

                return next_try_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        next_try_at = _parse_next_try_at(d.pop("nextTryAt"))

        webhook_endpoint = cls(
            id=id,
            url=url,
            registered=registered,
            events=events,
            description=description,
            enabled=enabled,
            created_at=created_at,
            state=state,
            failures=failures,
            failing_since=failing_since,
            last_try_at=last_try_at,
            latency_ms=latency_ms,
            last_status=last_status,
            last_error=last_error,
            last_delivered_at=last_delivered_at,
            waiting=waiting,
            next_try_at=next_try_at,
        )

        webhook_endpoint.additional_properties = d
        return webhook_endpoint

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
