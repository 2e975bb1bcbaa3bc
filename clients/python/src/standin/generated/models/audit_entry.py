from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from dateutil.parser import isoparse

T = TypeVar("T", bound="AuditEntry")


@_attrs_define
class AuditEntry:
    """A change in a team.

    Attributes:
        id (UUID): The ID.
        at (datetime.datetime): When it was changed.
        actor (str): Who changed it: the email address of a user, `key` and the name of a key, or `command line`.
        action (str): What was done. The words may change.
        target (str): An ID, a name or an address. May be empty.
    """

    id: UUID
    at: datetime.datetime
    actor: str
    action: str
    target: str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = str(self.id)

        at = self.at.isoformat()

        actor = self.actor

        action = self.action

        target = self.target

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "at": at,
                "actor": actor,
                "action": action,
                "target": target,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = UUID(d.pop("id"))

        at = isoparse(d.pop("at"))

        actor = d.pop("actor")

        action = d.pop("action")

        target = d.pop("target")

        audit_entry = cls(
            id=id,
            at=at,
            actor=actor,
            action=action,
            target=target,
        )

        audit_entry.additional_properties = d
        return audit_entry

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
