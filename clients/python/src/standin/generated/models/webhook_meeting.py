from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar, cast
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from dateutil.parser import isoparse

T = TypeVar("T", bound="WebhookMeeting")


@_attrs_define
class WebhookMeeting:
    """A meeting of a connected calendar.

    Attributes:
        calendar_id (UUID): The ID of the calendar.
        event_id (UUID): The ID of the meeting in the calendar.
        ical_uid (str): The UID of the event.
        title (str): The title.
        starts_at (datetime.datetime): When it starts.
        ends_at (datetime.datetime): When it ends.
        meeting_url (None | str): The URL of the meeting, or null.
        record (bool): Whether a bot is sent.
        reason (str): The reason, in words.
        job_id (None | UUID): The ID of the job, or null.
    """

    calendar_id: UUID
    event_id: UUID
    ical_uid: str
    title: str
    starts_at: datetime.datetime
    ends_at: datetime.datetime
    meeting_url: None | str
    record: bool
    reason: str
    job_id: None | UUID
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        calendar_id = str(self.calendar_id)

        event_id = str(self.event_id)

        ical_uid = self.ical_uid

        title = self.title

        starts_at = self.starts_at.isoformat()

        ends_at = self.ends_at.isoformat()

        meeting_url: None | str
        meeting_url = self.meeting_url

        record = self.record

        reason = self.reason

        job_id: None | str
        if isinstance(self.job_id, UUID):
            job_id = str(self.job_id)
        else:
            job_id = self.job_id

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "calendarId": calendar_id,
                "eventId": event_id,
                "icalUid": ical_uid,
                "title": title,
                "startsAt": starts_at,
                "endsAt": ends_at,
                "meetingUrl": meeting_url,
                "record": record,
                "reason": reason,
                "jobId": job_id,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        calendar_id = UUID(d.pop("calendarId"))

        event_id = UUID(d.pop("eventId"))

        ical_uid = d.pop("icalUid")

        title = d.pop("title")

        starts_at = isoparse(d.pop("startsAt"))

        ends_at = isoparse(d.pop("endsAt"))

        def _parse_meeting_url(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        meeting_url = _parse_meeting_url(d.pop("meetingUrl"))

        record = d.pop("record")

        reason = d.pop("reason")

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

        webhook_meeting = cls(
            calendar_id=calendar_id,
            event_id=event_id,
            ical_uid=ical_uid,
            title=title,
            starts_at=starts_at,
            ends_at=ends_at,
            meeting_url=meeting_url,
            record=record,
            reason=reason,
            job_id=job_id,
        )

        webhook_meeting.additional_properties = d
        return webhook_meeting

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
