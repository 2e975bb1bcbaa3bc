from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from dateutil.parser import isoparse

from ..models.delivery_details_state import DeliveryDetailsState
from ..models.delivery_details_version import DeliveryDetailsVersion

if TYPE_CHECKING:
    from ..models.delivery_details_headers_item import DeliveryDetailsHeadersItem
    from ..models.delivery_try import DeliveryTry


T = TypeVar("T", bound="DeliveryDetails")


@_attrs_define
class DeliveryDetails:
    """The delivery of an event to a URL, with its request.

    Attributes:
        delivery_id (str): The ID of the delivery, the same for all attempts.
        job_id (None | UUID): The ID of the job, or null for events of calendars.
        event (str): The name of the event.
        url (str): The webhook URL.
        sequence (int): The number of the event within its job or, without a job, within your team.
        emitted_at (datetime.datetime): When the event happened.
        version (DeliveryDetailsVersion): The version of the payload.
        state (DeliveryDetailsState): `waiting` while an attempt is scheduled or running, `delivered`, or `failed` after
            the last attempt or a 410.
        attempt (int): The number of attempts started.
        next_try_at (datetime.datetime | None): When the next attempt is due, or when a running attempt counts as lost;
            never in the past. Null in a final state.
        ended_at (datetime.datetime | None): When the webhook was delivered or failed permanently, or null.
        end_reason (None | str): Why the webhook failed permanently, or null.
        tries (list[DeliveryTry]): The result of each attempt.
        headers (list[DeliveryDetailsHeadersItem]): The headers of the request, without those of the connection.
        body (str): The body of the request.
    """

    delivery_id: str
    job_id: None | UUID
    event: str
    url: str
    sequence: int
    emitted_at: datetime.datetime
    version: DeliveryDetailsVersion
    state: DeliveryDetailsState
    attempt: int
    next_try_at: datetime.datetime | None
    ended_at: datetime.datetime | None
    end_reason: None | str
    tries: list[DeliveryTry]
    headers: list[DeliveryDetailsHeadersItem]
    body: str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        delivery_id = self.delivery_id

        job_id: None | str
        if isinstance(self.job_id, UUID):
            job_id = str(self.job_id)
        else:
            job_id = self.job_id

        event = self.event

        url = self.url

        sequence = self.sequence

        emitted_at = self.emitted_at.isoformat()

        version = self.version.value

        state = self.state.value

        attempt = self.attempt

        next_try_at: None | str
        if isinstance(self.next_try_at, datetime.datetime):
            next_try_at = self.next_try_at.isoformat()
        else:
            next_try_at = self.next_try_at

        ended_at: None | str
        if isinstance(self.ended_at, datetime.datetime):
            ended_at = self.ended_at.isoformat()
        else:
            ended_at = self.ended_at

        end_reason: None | str
        end_reason = self.end_reason

        tries = []
        for tries_item_data in self.tries:
            tries_item = tries_item_data.to_dict()
            tries.append(tries_item)

        headers = []
        for headers_item_data in self.headers:
            headers_item = headers_item_data.to_dict()
            headers.append(headers_item)

        body = self.body

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "deliveryId": delivery_id,
                "jobId": job_id,
                "event": event,
                "url": url,
                "sequence": sequence,
                "emittedAt": emitted_at,
                "version": version,
                "state": state,
                "attempt": attempt,
                "nextTryAt": next_try_at,
                "endedAt": ended_at,
                "endReason": end_reason,
                "tries": tries,
                "headers": headers,
                "body": body,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.delivery_details_headers_item import DeliveryDetailsHeadersItem
        from ..models.delivery_try import DeliveryTry

        d = dict(src_dict)
        delivery_id = d.pop("deliveryId")

        def _parse_job_id(data: object) -> None | UUID:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                job_id_type_0 = UUID(data)

                return job_id_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | UUID, data)

        job_id = _parse_job_id(d.pop("jobId"))

        event = d.pop("event")

        url = d.pop("url")

        sequence = d.pop("sequence")

        emitted_at = isoparse(d.pop("emittedAt"))

        version = DeliveryDetailsVersion(d.pop("version"))

        state = DeliveryDetailsState(d.pop("state"))

        attempt = d.pop("attempt")

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

        def _parse_ended_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                ended_at_type_0 = isoparse(data)

                return ended_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        ended_at = _parse_ended_at(d.pop("endedAt"))

        def _parse_end_reason(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        end_reason = _parse_end_reason(d.pop("endReason"))

        tries = []
        _tries = d.pop("tries")
        for tries_item_data in _tries:
            tries_item = DeliveryTry.from_dict(tries_item_data)

            tries.append(tries_item)

        headers = []
        _headers = d.pop("headers")
        for headers_item_data in _headers:
            headers_item = DeliveryDetailsHeadersItem.from_dict(headers_item_data)

            headers.append(headers_item)

        body = d.pop("body")

        delivery_details = cls(
            delivery_id=delivery_id,
            job_id=job_id,
            event=event,
            url=url,
            sequence=sequence,
            emitted_at=emitted_at,
            version=version,
            state=state,
            attempt=attempt,
            next_try_at=next_try_at,
            ended_at=ended_at,
            end_reason=end_reason,
            tries=tries,
            headers=headers,
            body=body,
        )

        delivery_details.additional_properties = d
        return delivery_details

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
