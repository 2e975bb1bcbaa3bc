from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from dateutil.parser import isoparse

from ..models.key_create_mode import KeyCreateMode
from ..models.key_scope import KeyScope
from ..types import UNSET, Unset

T = TypeVar("T", bound="KeyCreate")


@_attrs_define
class KeyCreate:
    """A key to create.

    Attributes:
        name (str): What you call the key, such as the program that uses it.
        mode (KeyCreateMode | Unset): Default: the mode of the key of this request.
        scope (KeyScope | Unset): What a key may do. `read` reads jobs, recordings and texts. `jobs` also sends and
            controls bots and deletes recordings.
            `admin` also manages keys and rotates the webhook secret. Keys have `admin` unless they were created with
            another scope.
        expires_at (datetime.datetime | None | Unset): When the key stops working. Default: never.
    """

    name: str
    mode: KeyCreateMode | Unset = UNSET
    scope: KeyScope | Unset = UNSET
    expires_at: datetime.datetime | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        mode: str | Unset = UNSET
        if not isinstance(self.mode, Unset):
            mode = self.mode.value

        scope: str | Unset = UNSET
        if not isinstance(self.scope, Unset):
            scope = self.scope.value

        expires_at: None | str | Unset
        if isinstance(self.expires_at, Unset):
            expires_at = UNSET
        elif isinstance(self.expires_at, datetime.datetime):
            expires_at = self.expires_at.isoformat()
        else:
            expires_at = self.expires_at

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "name": name,
            }
        )
        if mode is not UNSET:
            field_dict["mode"] = mode
        if scope is not UNSET:
            field_dict["scope"] = scope
        if expires_at is not UNSET:
            field_dict["expiresAt"] = expires_at

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        name = d.pop("name")

        _mode = d.pop("mode", UNSET)
        mode: KeyCreateMode | Unset
        if isinstance(_mode, Unset):
            mode = UNSET
        else:
            mode = KeyCreateMode(_mode)

        _scope = d.pop("scope", UNSET)
        scope: KeyScope | Unset
        if isinstance(_scope, Unset):
            scope = UNSET
        else:
            scope = KeyScope(_scope)

        def _parse_expires_at(data: object) -> datetime.datetime | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                expires_at_type_0 = isoparse(data)

                return expires_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None | Unset, data)

        expires_at = _parse_expires_at(d.pop("expiresAt", UNSET))

        key_create = cls(
            name=name,
            mode=mode,
            scope=scope,
            expires_at=expires_at,
        )

        key_create.additional_properties = d
        return key_create

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
