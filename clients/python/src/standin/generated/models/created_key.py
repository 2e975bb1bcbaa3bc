from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar, cast
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from dateutil.parser import isoparse

from ..models.created_key_mode import CreatedKeyMode
from ..models.key_scope import KeyScope

T = TypeVar("T", bound="CreatedKey")


@_attrs_define
class CreatedKey:
    """A new API key.

    Attributes:
        id (UUID): The ID.
        name (str): What people call the key. May be empty.
        mode (CreatedKeyMode): Whether its jobs join meetings, or run in the simulator.
        scope (KeyScope): What a key may do. `read` reads jobs, recordings and texts. `jobs` also sends and controls
            bots and deletes recordings.
            `admin` also manages keys and rotates the webhook secret. Keys have `admin` unless they were created with
            another scope.
        prefix (str): The first characters of the key.
        created_at (datetime.datetime): When it was created.
        created_by (str): The email address of a user, the name of a key, or `command line`. Empty when unknown.
        last_used_at (datetime.datetime | None): When it was last used, to a minute. Null if it never was.
        expires_at (datetime.datetime | None): When it stops working. Null if it does not expire.
        key (str): The key. It cannot be read again.
    """

    id: UUID
    name: str
    mode: CreatedKeyMode
    scope: KeyScope
    prefix: str
    created_at: datetime.datetime
    created_by: str
    last_used_at: datetime.datetime | None
    expires_at: datetime.datetime | None
    key: str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = str(self.id)

        name = self.name

        mode = self.mode.value

        scope = self.scope.value

        prefix = self.prefix

        created_at = self.created_at.isoformat()

        created_by = self.created_by

        last_used_at: None | str
        if isinstance(self.last_used_at, datetime.datetime):
            last_used_at = self.last_used_at.isoformat()
        else:
            last_used_at = self.last_used_at

        expires_at: None | str
        if isinstance(self.expires_at, datetime.datetime):
            expires_at = self.expires_at.isoformat()
        else:
            expires_at = self.expires_at

        key = self.key

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "name": name,
                "mode": mode,
                "scope": scope,
                "prefix": prefix,
                "createdAt": created_at,
                "createdBy": created_by,
                "lastUsedAt": last_used_at,
                "expiresAt": expires_at,
                "key": key,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = UUID(d.pop("id"))

        name = d.pop("name")

        mode = CreatedKeyMode(d.pop("mode"))

        scope = KeyScope(d.pop("scope"))

        prefix = d.pop("prefix")

        created_at = isoparse(d.pop("createdAt"))

        created_by = d.pop("createdBy")

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

        def _parse_expires_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                expires_at_type_0 = isoparse(data)

                return expires_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        expires_at = _parse_expires_at(d.pop("expiresAt"))

        key = d.pop("key")

        created_key = cls(
            id=id,
            name=name,
            mode=mode,
            scope=scope,
            prefix=prefix,
            created_at=created_at,
            created_by=created_by,
            last_used_at=last_used_at,
            expires_at=expires_at,
            key=key,
        )

        created_key.additional_properties = d
        return created_key

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
