from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar, cast
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from dateutil.parser import isoparse

from ..models.key_scope import KeyScope
from ..models.me_key_mode import MeKeyMode

T = TypeVar("T", bound="MeKey")


@_attrs_define
class MeKey:
    """The key of this request.

    Attributes:
        id (UUID): The ID.
        name (str): What people call the key. May be empty.
        mode (MeKeyMode): Whether its jobs join meetings, or run in the simulator.
        scope (KeyScope): What a key may do. `read` reads jobs, recordings and texts. `jobs` also sends and controls
            bots and deletes recordings.
            `admin` also manages keys and rotates the webhook secret. Keys have `admin` unless they were created with
            another scope.
        created_at (datetime.datetime): When it was created.
        expires_at (datetime.datetime | None): When it stops working. Null if it does not expire.
    """

    id: UUID
    name: str
    mode: MeKeyMode
    scope: KeyScope
    created_at: datetime.datetime
    expires_at: datetime.datetime | None
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = str(self.id)

        name = self.name

        mode = self.mode.value

        scope = self.scope.value

        created_at = self.created_at.isoformat()

        expires_at: None | str
        if isinstance(self.expires_at, datetime.datetime):
            expires_at = self.expires_at.isoformat()
        else:
            expires_at = self.expires_at

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "name": name,
                "mode": mode,
                "scope": scope,
                "createdAt": created_at,
                "expiresAt": expires_at,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = UUID(d.pop("id"))

        name = d.pop("name")

        mode = MeKeyMode(d.pop("mode"))

        scope = KeyScope(d.pop("scope"))

        created_at = isoparse(d.pop("createdAt"))

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

        me_key = cls(
            id=id,
            name=name,
            mode=mode,
            scope=scope,
            created_at=created_at,
            expires_at=expires_at,
        )

        me_key.additional_properties = d
        return me_key

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
