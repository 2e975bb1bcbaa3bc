from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.calendar_create_provider import CalendarCreateProvider
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.calendar_job import CalendarJob
    from ..models.calendar_rules import CalendarRules


T = TypeVar("T", bound="CalendarCreate")


@_attrs_define
class CalendarCreate:
    """A calendar to connect.

    Attributes:
        name (str): A display name.
        provider (CalendarCreateProvider | Unset): `feed` for a calendar at an `icsUrl`, the default; `google` for
            Google Calendar; `microsoft` for Microsoft 365 and Outlook.com.
        ics_url (str | Unset): With the provider `feed`: the address of the calendar in iCal format, an https, http or
            webcal URL. Whoever knows it can read the calendar.
        refresh_token (str | Unset): With the other providers: the OAuth 2.0 refresh token of the owner, with the scope
            calendar.readonly of Google, or Calendars.Read and offline_access of Microsoft.
        client_id (str | Unset): The ID of the OAuth client to which the refresh token was given. By default that of the
            service.
        client_secret (str | Unset): The secret of this client.
        tenant (str | Unset): The Microsoft tenant of this client. By default that of the service.
        calendar_id (str | Unset): The ID of the calendar at the provider. By default, the main calendar of the owner.
        email (str | Unset): The email address of the owner of the calendar. The rules external, internal, organized and
            accepted need it. Without it, it is unknown which meetings the owner has declined. The providers google and
            microsoft are asked for it.
        rules (CalendarRules | Unset): Which meetings get a bot. All rules must be met. A meeting that the owner has
            declined gets none.
        job (CalendarJob | Unset): Settings of the jobs of a calendar. Those that are not set are the defaults of jobs.
        poll_seconds (int | Unset): How often the calendar is read, in seconds. Default: 300.
    """

    name: str
    provider: CalendarCreateProvider | Unset = UNSET
    ics_url: str | Unset = UNSET
    refresh_token: str | Unset = UNSET
    client_id: str | Unset = UNSET
    client_secret: str | Unset = UNSET
    tenant: str | Unset = UNSET
    calendar_id: str | Unset = UNSET
    email: str | Unset = UNSET
    rules: CalendarRules | Unset = UNSET
    job: CalendarJob | Unset = UNSET
    poll_seconds: int | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        provider: str | Unset = UNSET
        if not isinstance(self.provider, Unset):
            provider = self.provider.value

        ics_url = self.ics_url

        refresh_token = self.refresh_token

        client_id = self.client_id

        client_secret = self.client_secret

        tenant = self.tenant

        calendar_id = self.calendar_id

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
        field_dict.update(
            {
                "name": name,
            }
        )
        if provider is not UNSET:
            field_dict["provider"] = provider
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
        name = d.pop("name")

        _provider = d.pop("provider", UNSET)
        provider: CalendarCreateProvider | Unset
        if isinstance(_provider, Unset):
            provider = UNSET
        else:
            provider = CalendarCreateProvider(_provider)

        ics_url = d.pop("icsUrl", UNSET)

        refresh_token = d.pop("refreshToken", UNSET)

        client_id = d.pop("clientId", UNSET)

        client_secret = d.pop("clientSecret", UNSET)

        tenant = d.pop("tenant", UNSET)

        calendar_id = d.pop("calendarId", UNSET)

        email = d.pop("email", UNSET)

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

        calendar_create = cls(
            name=name,
            provider=provider,
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

        calendar_create.additional_properties = d
        return calendar_create

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
