from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from dateutil.parser import isoparse

from ..models.calendar_provider import CalendarProvider
from ..models.calendar_state import CalendarState

if TYPE_CHECKING:
    from ..models.calendar_job import CalendarJob
    from ..models.calendar_rules import CalendarRules


T = TypeVar("T", bound="Calendar")


@_attrs_define
class Calendar:
    """A connected calendar.

    Attributes:
        id (UUID): The ID of the calendar.
        provider (CalendarProvider): How the calendar is read.
        name (str): The name.
        address (str): The address without what is secret, or the name of the provider and the ID of the calendar.
        email (None | str): The email address of the owner, or null if it is unknown.
        rules (CalendarRules): Which meetings get a bot. All rules must be met. A meeting that the owner has declined
            gets none.
        job (CalendarJob): Settings of the jobs of a calendar. Those that are not set are the defaults of jobs.
        poll_seconds (int): How often the calendar is read, in seconds.
        state (CalendarState): `waiting` to be read for the first time, `active`, `failing` if it could not be read, or
            `revoked` if its owner has to connect it again.
        error (None | str): Why the calendar could not be read, or null.
        synced_at (datetime.datetime | None): When the calendar was last read, or null.
        next_sync_at (datetime.datetime): When the calendar is read next. It may be in the past.
        created_at (datetime.datetime): When the calendar was connected.
    """

    id: UUID
    provider: CalendarProvider
    name: str
    address: str
    email: None | str
    rules: CalendarRules
    job: CalendarJob
    poll_seconds: int
    state: CalendarState
    error: None | str
    synced_at: datetime.datetime | None
    next_sync_at: datetime.datetime
    created_at: datetime.datetime
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = str(self.id)

        provider = self.provider.value

        name = self.name

        address = self.address

        email: None | str
        email = self.email

        rules = self.rules.to_dict()

        job = self.job.to_dict()

        poll_seconds = self.poll_seconds

        state = self.state.value

        error: None | str
        error = self.error

        synced_at: None | str
        if isinstance(self.synced_at, datetime.datetime):
            synced_at = self.synced_at.isoformat()
        else:
            synced_at = self.synced_at

        next_sync_at = self.next_sync_at.isoformat()

        created_at = self.created_at.isoformat()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "provider": provider,
                "name": name,
                "address": address,
                "email": email,
                "rules": rules,
                "job": job,
                "pollSeconds": poll_seconds,
                "state": state,
                "error": error,
                "syncedAt": synced_at,
                "nextSyncAt": next_sync_at,
                "createdAt": created_at,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.calendar_job import CalendarJob
        from ..models.calendar_rules import CalendarRules

        d = dict(src_dict)
        id = UUID(d.pop("id"))

        provider = CalendarProvider(d.pop("provider"))

        name = d.pop("name")

        address = d.pop("address")

        def _parse_email(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        email = _parse_email(d.pop("email"))

        rules = CalendarRules.from_dict(d.pop("rules"))

        job = CalendarJob.from_dict(d.pop("job"))

        poll_seconds = d.pop("pollSeconds")

        state = CalendarState(d.pop("state"))

        def _parse_error(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        error = _parse_error(d.pop("error"))

        def _parse_synced_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                synced_at_type_0 = isoparse(data)

                return synced_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        synced_at = _parse_synced_at(d.pop("syncedAt"))

        next_sync_at = isoparse(d.pop("nextSyncAt"))

        created_at = isoparse(d.pop("createdAt"))

        calendar = cls(
            id=id,
            provider=provider,
            name=name,
            address=address,
            email=email,
            rules=rules,
            job=job,
            poll_seconds=poll_seconds,
            state=state,
            error=error,
            synced_at=synced_at,
            next_sync_at=next_sync_at,
            created_at=created_at,
        )

        calendar.additional_properties = d
        return calendar

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
