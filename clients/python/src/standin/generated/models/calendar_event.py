from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar, cast
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from dateutil.parser import isoparse

from ..models.calendar_event_sources_item import CalendarEventSourcesItem

T = TypeVar("T", bound="CalendarEvent")


@_attrs_define
class CalendarEvent:
    """A meeting in a calendar: an event, or an occurrence of a series.

    Attributes:
        id (UUID): The ID of the event. It stays when the meeting is moved.
        ical_uid (str): The UID of the event in the calendar.
        original_start (datetime.datetime | None): When the occurrence of a series originally started, or null for other
            events.
        title (str): The title. Empty for private meetings.
        organizer (None | str): The email address of the organizer, or null.
        starts_at (datetime.datetime): When the meeting starts.
        ends_at (datetime.datetime): When the meeting ends.
        time_zone (None | str): The IANA name of its time zone, or null if it is unknown.
        meeting_url (None | str): The link to the meeting, or null.
        platform (None | str): The platform of the meeting, or null.
        participants (int): The number of participants, with the organizer and without those who declined.
        response (None | str): The response of the owner of the calendar, such as `accepted`, `declined` or `needs-
            action`, or null if it is unknown.
        record (bool): Whether a bot comes.
        reason (str): The reason, such as “not recorded: you declined”.
        override (bool | None): Whether the meeting was switched on or off, or null if the rules decide.
        job_id (None | UUID): The ID of the job, or null.
        job_status (None | str): The status of the job, or null.
        sources (list[CalendarEventSourcesItem]): Where the meeting is known from: calendars (`feed`, `google`,
            `microsoft`), invitations by `mail` or by the API (`intake`), or a job that was created by the `api`.
        account (None | str): The label of an account for bots that is on the invitation, or null.
    """

    id: UUID
    ical_uid: str
    original_start: datetime.datetime | None
    title: str
    organizer: None | str
    starts_at: datetime.datetime
    ends_at: datetime.datetime
    time_zone: None | str
    meeting_url: None | str
    platform: None | str
    participants: int
    response: None | str
    record: bool
    reason: str
    override: bool | None
    job_id: None | UUID
    job_status: None | str
    sources: list[CalendarEventSourcesItem]
    account: None | str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = str(self.id)

        ical_uid = self.ical_uid

        original_start: None | str
        if isinstance(self.original_start, datetime.datetime):
            original_start = self.original_start.isoformat()
        else:
            original_start = self.original_start

        title = self.title

        organizer: None | str
        organizer = self.organizer

        starts_at = self.starts_at.isoformat()

        ends_at = self.ends_at.isoformat()

        time_zone: None | str
        time_zone = self.time_zone

        meeting_url: None | str
        meeting_url = self.meeting_url

        platform: None | str
        platform = self.platform

        participants = self.participants

        response: None | str
        response = self.response

        record = self.record

        reason = self.reason

        override: bool | None
        override = self.override

        job_id: None | str
        if isinstance(self.job_id, UUID):
            job_id = str(self.job_id)
        else:
            job_id = self.job_id

        job_status: None | str
        job_status = self.job_status

        sources = []
        for sources_item_data in self.sources:
            sources_item = sources_item_data.value
            sources.append(sources_item)

        account: None | str
        account = self.account

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "icalUid": ical_uid,
                "originalStart": original_start,
                "title": title,
                "organizer": organizer,
                "startsAt": starts_at,
                "endsAt": ends_at,
                "timeZone": time_zone,
                "meetingUrl": meeting_url,
                "platform": platform,
                "participants": participants,
                "response": response,
                "record": record,
                "reason": reason,
                "override": override,
                "jobId": job_id,
                "jobStatus": job_status,
                "sources": sources,
                "account": account,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = UUID(d.pop("id"))

        ical_uid = d.pop("icalUid")

        def _parse_original_start(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                original_start_type_0 = isoparse(data)

                return original_start_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        original_start = _parse_original_start(d.pop("originalStart"))

        title = d.pop("title")

        def _parse_organizer(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        organizer = _parse_organizer(d.pop("organizer"))

        starts_at = isoparse(d.pop("startsAt"))

        ends_at = isoparse(d.pop("endsAt"))

        def _parse_time_zone(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        time_zone = _parse_time_zone(d.pop("timeZone"))

        def _parse_meeting_url(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        meeting_url = _parse_meeting_url(d.pop("meetingUrl"))

        def _parse_platform(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        platform = _parse_platform(d.pop("platform"))

        participants = d.pop("participants")

        def _parse_response(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        response = _parse_response(d.pop("response"))

        record = d.pop("record")

        reason = d.pop("reason")

        def _parse_override(data: object) -> bool | None:
            if data is None:
                return data
            return cast(bool | None, data)

        override = _parse_override(d.pop("override"))

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

        def _parse_job_status(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        job_status = _parse_job_status(d.pop("jobStatus"))

        sources = []
        _sources = d.pop("sources")
        for sources_item_data in _sources:
            sources_item = CalendarEventSourcesItem(sources_item_data)

            sources.append(sources_item)

        def _parse_account(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        account = _parse_account(d.pop("account"))

        calendar_event = cls(
            id=id,
            ical_uid=ical_uid,
            original_start=original_start,
            title=title,
            organizer=organizer,
            starts_at=starts_at,
            ends_at=ends_at,
            time_zone=time_zone,
            meeting_url=meeting_url,
            platform=platform,
            participants=participants,
            response=response,
            record=record,
            reason=reason,
            override=override,
            job_id=job_id,
            job_status=job_status,
            sources=sources,
            account=account,
        )

        calendar_event.additional_properties = d
        return calendar_event

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
