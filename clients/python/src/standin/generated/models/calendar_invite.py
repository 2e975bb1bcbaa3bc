from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from dateutil.parser import isoparse

from ..models.calendar_invite_platform import CalendarInvitePlatform
from ..types import UNSET, Unset

T = TypeVar("T", bound="CalendarInvite")


@_attrs_define
class CalendarInvite:
    """A meeting to which the service was invited.

    Attributes:
        organizer_email (str): The organizer. The job belongs to the consumer with this email address.
        meeting_url (str): The URL of the meeting, an absolute http or https URL.
        platform (CalendarInvitePlatform): The kind of meeting.
        join_at (datetime.datetime): When to join.
        subject (str | Unset): The subject of the meeting. It is stored in the metadata of the job. Default: (no
            subject).
        ends_at (datetime.datetime | Unset): When the meeting ends. Later, no bot is sent. Ignored if it is not after
            `joinAt`.
        ical_uid (None | str | Unset): The UID of the calendar event.
        recurrence_id (None | str | Unset): Identifies the occurrence of a recurring event, best by its original time,
            such as `20261127T090000Z` or
            `2026-11-27T10:00:00+01:00`, by which calendars and mail know it too. All
            occurrences of a series have the same UID: without this, the next occurrence moves the job of the one before.
        cancelled (bool | Unset): Whether the meeting was cancelled. Default: false.
    """

    organizer_email: str
    meeting_url: str
    platform: CalendarInvitePlatform
    join_at: datetime.datetime
    subject: str | Unset = UNSET
    ends_at: datetime.datetime | Unset = UNSET
    ical_uid: None | str | Unset = UNSET
    recurrence_id: None | str | Unset = UNSET
    cancelled: bool | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        organizer_email = self.organizer_email

        meeting_url = self.meeting_url

        platform = self.platform.value

        join_at = self.join_at.isoformat()

        subject = self.subject

        ends_at: str | Unset = UNSET
        if not isinstance(self.ends_at, Unset):
            ends_at = self.ends_at.isoformat()

        ical_uid: None | str | Unset
        if isinstance(self.ical_uid, Unset):
            ical_uid = UNSET
        else:
            ical_uid = self.ical_uid

        recurrence_id: None | str | Unset
        if isinstance(self.recurrence_id, Unset):
            recurrence_id = UNSET
        else:
            recurrence_id = self.recurrence_id

        cancelled = self.cancelled

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "organizerEmail": organizer_email,
                "meetingUrl": meeting_url,
                "platform": platform,
                "joinAt": join_at,
            }
        )
        if subject is not UNSET:
            field_dict["subject"] = subject
        if ends_at is not UNSET:
            field_dict["endsAt"] = ends_at
        if ical_uid is not UNSET:
            field_dict["icalUid"] = ical_uid
        if recurrence_id is not UNSET:
            field_dict["recurrenceId"] = recurrence_id
        if cancelled is not UNSET:
            field_dict["cancelled"] = cancelled

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        organizer_email = d.pop("organizerEmail")

        meeting_url = d.pop("meetingUrl")

        platform = CalendarInvitePlatform(d.pop("platform"))

        join_at = isoparse(d.pop("joinAt"))

        subject = d.pop("subject", UNSET)

        _ends_at = d.pop("endsAt", UNSET)
        ends_at: datetime.datetime | Unset
        if isinstance(_ends_at, Unset):
            ends_at = UNSET
        else:
            ends_at = isoparse(_ends_at)

        def _parse_ical_uid(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        ical_uid = _parse_ical_uid(d.pop("icalUid", UNSET))

        def _parse_recurrence_id(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        recurrence_id = _parse_recurrence_id(d.pop("recurrenceId", UNSET))

        cancelled = d.pop("cancelled", UNSET)

        calendar_invite = cls(
            organizer_email=organizer_email,
            meeting_url=meeting_url,
            platform=platform,
            join_at=join_at,
            subject=subject,
            ends_at=ends_at,
            ical_uid=ical_uid,
            recurrence_id=recurrence_id,
            cancelled=cancelled,
        )

        calendar_invite.additional_properties = d
        return calendar_invite

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
