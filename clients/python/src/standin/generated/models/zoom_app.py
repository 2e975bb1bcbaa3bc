from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar, cast
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from dateutil.parser import isoparse

T = TypeVar("T", bound="ZoomApp")


@_attrs_define
class ZoomApp:
    """An app of Zoom's marketplace.

    Attributes:
        id (UUID): The ID of the app here.
        label (str): The label.
        client_id (str): Its client ID at Zoom.
        record (bool): Whether each stream gets a job.
        heard_at (datetime.datetime | None): When Zoom last sent an event of it, or null: check its event notification
            URL.
        created_at (datetime.datetime): When it was added.
    """

    id: UUID
    label: str
    client_id: str
    record: bool
    heard_at: datetime.datetime | None
    created_at: datetime.datetime
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = str(self.id)

        label = self.label

        client_id = self.client_id

        record = self.record

        heard_at: None | str
        if isinstance(self.heard_at, datetime.datetime):
            heard_at = self.heard_at.isoformat()
        else:
            heard_at = self.heard_at

        created_at = self.created_at.isoformat()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "label": label,
                "clientId": client_id,
                "record": record,
                "heardAt": heard_at,
                "createdAt": created_at,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = UUID(d.pop("id"))

        label = d.pop("label")

        client_id = d.pop("clientId")

        record = d.pop("record")

        def _parse_heard_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                heard_at_type_0 = isoparse(data)

                return heard_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        heard_at = _parse_heard_at(d.pop("heardAt"))

        created_at = isoparse(d.pop("createdAt"))

        zoom_app = cls(
            id=id,
            label=label,
            client_id=client_id,
            record=record,
            heard_at=heard_at,
            created_at=created_at,
        )

        zoom_app.additional_properties = d
        return zoom_app

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
