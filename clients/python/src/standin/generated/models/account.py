from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from dateutil.parser import isoparse

from ..models.account_condition import AccountCondition
from ..models.account_owner import AccountOwner
from ..models.account_platform import AccountPlatform

if TYPE_CHECKING:
    from ..models.account_uses_item import AccountUsesItem


T = TypeVar("T", bound="Account")


@_attrs_define
class Account:
    """An account with which bots sign in to a meeting platform.

    Attributes:
        id (UUID): The ID of the account.
        owner (AccountOwner): Who keeps the account: your team, or the operator of the service for several teams.
        platform (AccountPlatform): The platform.
        label (str): The label.
        address (None | str): Its email address. A bot whose account is on the invitation is let in without waiting on
            Google Meet.
        group (None | str): A name for several accounts, which jobs can use.
        max_meetings (int): In how many meetings at once the account may be.
        meetings (int): In how many it is.
        condition (AccountCondition): Whether a bot can use it now: `in_use` in as many meetings as it may be, `resting`
            until a time or after refusals, `signed_out` when its cookies have expired.
        reason (None | str): Why it cannot be used, for people.
        saml (bool): Whether bots sign in by SAML.
        signed_in_until (datetime.datetime | None): When its cookies expire, or null if that is unknown.
        rests_until (datetime.datetime | None): Until when you let it rest.
        last_used_at (datetime.datetime | None): When a bot last signed in with it.
        created_at (datetime.datetime): When it was added.
        uses (list[AccountUsesItem]): Its last meetings in jobs of your team, at most 10, the newest first.
    """

    id: UUID
    owner: AccountOwner
    platform: AccountPlatform
    label: str
    address: None | str
    group: None | str
    max_meetings: int
    meetings: int
    condition: AccountCondition
    reason: None | str
    saml: bool
    signed_in_until: datetime.datetime | None
    rests_until: datetime.datetime | None
    last_used_at: datetime.datetime | None
    created_at: datetime.datetime
    uses: list[AccountUsesItem]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = str(self.id)

        owner = self.owner.value

        platform = self.platform.value

        label = self.label

        address: None | str
        address = self.address

        group: None | str
        group = self.group

        max_meetings = self.max_meetings

        meetings = self.meetings

        condition = self.condition.value

        reason: None | str
        reason = self.reason

        saml = self.saml

        signed_in_until: None | str
        if isinstance(self.signed_in_until, datetime.datetime):
            signed_in_until = self.signed_in_until.isoformat()
        else:
            signed_in_until = self.signed_in_until

        rests_until: None | str
        if isinstance(self.rests_until, datetime.datetime):
            rests_until = self.rests_until.isoformat()
        else:
            rests_until = self.rests_until

        last_used_at: None | str
        if isinstance(self.last_used_at, datetime.datetime):
            last_used_at = self.last_used_at.isoformat()
        else:
            last_used_at = self.last_used_at

        created_at = self.created_at.isoformat()

        uses = []
        for uses_item_data in self.uses:
            uses_item = uses_item_data.to_dict()
            uses.append(uses_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "owner": owner,
                "platform": platform,
                "label": label,
                "address": address,
                "group": group,
                "maxMeetings": max_meetings,
                "meetings": meetings,
                "condition": condition,
                "reason": reason,
                "saml": saml,
                "signedInUntil": signed_in_until,
                "restsUntil": rests_until,
                "lastUsedAt": last_used_at,
                "createdAt": created_at,
                "uses": uses,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.account_uses_item import AccountUsesItem

        d = dict(src_dict)
        id = UUID(d.pop("id"))

        owner = AccountOwner(d.pop("owner"))

        platform = AccountPlatform(d.pop("platform"))

        label = d.pop("label")

        def _parse_address(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        address = _parse_address(d.pop("address"))

        def _parse_group(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        group = _parse_group(d.pop("group"))

        max_meetings = d.pop("maxMeetings")

        meetings = d.pop("meetings")

        condition = AccountCondition(d.pop("condition"))

        def _parse_reason(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        reason = _parse_reason(d.pop("reason"))

        saml = d.pop("saml")

        def _parse_signed_in_until(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                signed_in_until_type_0 = isoparse(data)

                return signed_in_until_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        signed_in_until = _parse_signed_in_until(d.pop("signedInUntil"))

        def _parse_rests_until(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                rests_until_type_0 = isoparse(data)

                return rests_until_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        rests_until = _parse_rests_until(d.pop("restsUntil"))

        def _parse_last_used_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                last_used_at_type_0 = isoparse(data)

                return last_used_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        last_used_at = _parse_last_used_at(d.pop("lastUsedAt"))

        created_at = isoparse(d.pop("createdAt"))

        uses = []
        _uses = d.pop("uses")
        for uses_item_data in _uses:
            uses_item = AccountUsesItem.from_dict(uses_item_data)

            uses.append(uses_item)

        account = cls(
            id=id,
            owner=owner,
            platform=platform,
            label=label,
            address=address,
            group=group,
            max_meetings=max_meetings,
            meetings=meetings,
            condition=condition,
            reason=reason,
            saml=saml,
            signed_in_until=signed_in_until,
            rests_until=rests_until,
            last_used_at=last_used_at,
            created_at=created_at,
            uses=uses,
        )

        account.additional_properties = d
        return account

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
