from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.calendar_job import CalendarJob
    from ..models.calendar_rules import CalendarRules


T = TypeVar("T", bound="CalendarPatch")


@_attrs_define
class CalendarPatch:
    """Changes to a calendar.

    Attributes:
        name (str | Unset): A display name.
        ics_url (str | Unset): Replaces the address of a feed.
        refresh_token (str | Unset): Replaces the refresh token.
        client_id (str | Unset): Replaces the ID of the OAuth client. Empty for that of the service.
        client_secret (str | Unset): Replaces the secret of the client.
        tenant (str | Unset): Replaces the Microsoft tenant.
        calendar_id (str | Unset): Another calendar of the owner. Empty for the main one.
        email (None | str | Unset): The email address of the owner. null removes it.
        rules (CalendarRules | Unset): Which meetings get a bot. All rules must be met. A meeting that the owner has
            declined gets none.
        job (CalendarJob | Unset): Settings of the jobs of a calendar. Those that are not set are the defaults of jobs.
        poll_seconds (int | Unset): How often the calendar is read, in seconds.
    """

    name: str | Unset = UNSET
    ics_url: str | Unset = UNSET
    refresh_token: str | Unset = UNSET
    client_id: str | Unset = UNSET
    client_secret: str | Unset = UNSET
    tenant: str | Unset = UNSET
    calendar_id: str | Unset = UNSET
    email: None | str | Unset = UNSET
    rules: CalendarRules | Unset = UNSET
    job: CalendarJob | Unset = UNSET
    poll_seconds: int | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        ics_url = self.ics_url

        refresh_token = self.refresh_token

        client_id = self.client_id

        client_secret = self.client_secret

        tenant = self.tenant

        calendar_id = self.calendar_id

        email: None | str | Unset
        if isinstance(self.email, Unset):
            email = UNSET
        else:
            email = self.email

        rules: dict[str, Any] | Unset = UNSET
        if not isinstance(self.rules, Unset):
            rules = self.rules.to_dict()

        job: dict[str, Any] | Unset = UNSET
        if not isinstance(self.job, Unset):
            job = self.job.to_dict()

        poll_seconds = self.poll_seconds

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({})
        if name is not UNSET:
            field_dict["name"] = name
        if ics_url is not UNSET:
            field_dict["icsUrl"] = ics_url
        if refresh_token is not UNSET:
            field_dict["refreshToken"] = refresh_token
        if client_id is not UNSET:
            field_dict["clientId"] = client_id
        if client_secret is not UNSET:
            field_dict["clientSecret"] = client_secret
        if tenant is not UNSET:
            field_dict["tenant"] = tenant
        if calendar_id is not UNSET:
            field_dict["calendarId"] = calendar_id
        if email is not UNSET:
            field_dict["email"] = email
        if rules is not UNSET:
            field_dict["rules"] = rules
        if job is not UNSET:
            field_dict["job"] = job
        if poll_seconds is not UNSET:
            field_dict["pollSeconds"] = poll_seconds

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.calendar_job import CalendarJob
        from ..models.calendar_rules import CalendarRules

        d = dict(src_dict)
        name = d.pop("name", UNSET)

        ics_url = d.pop("icsUrl", UNSET)

        refresh_token = d.pop("refreshToken", UNSET)

        client_id = d.pop("clientId", UNSET)

        client_secret = d.pop("clientSecret", UNSET)

        tenant = d.pop("tenant", UNSET)

        calendar_id = d.pop("calendarId", UNSET)

        def _parse_email(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        email = _parse_email(d.pop("email", UNSET))

        _rules = d.pop("rules", UNSET)
        rules: CalendarRules | Unset
        if isinstance(_rules, Unset):
            rules = UNSET
        else:
            rules = CalendarRules.from_dict(_rules)

        _job = d.pop("job", UNSET)
        job: CalendarJob | Unset
        if isinstance(_job, Unset):
            job = UNSET
        else:
            job = CalendarJob.from_dict(_job)

        poll_seconds = d.pop("pollSeconds", UNSET)

        calendar_patch = cls(
            name=name,
            ics_url=ics_url,
            refresh_token=refresh_token,
            client_id=client_id,
            client_secret=client_secret,
            tenant=tenant,
            calendar_id=calendar_id,
            email=email,
            rules=rules,
            job=job,
            poll_seconds=poll_seconds,
        )

        calendar_patch.additional_properties = d
        return calendar_patch

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
