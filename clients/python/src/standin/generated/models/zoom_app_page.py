from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.zoom_app import ZoomApp


T = TypeVar("T", bound="ZoomAppPage")


@_attrs_define
class ZoomAppPage:
    """A page of apps of Zoom.

    Attributes:
        zoom_apps (list[ZoomApp]): Oldest first.
        next_cursor (None | str): The `cursor` of the next page, or null on the last page.
    """

    zoom_apps: list[ZoomApp]
    next_cursor: None | str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        zoom_apps = []
        for zoom_apps_item_data in self.zoom_apps:
            zoom_apps_item = zoom_apps_item_data.to_dict()
            zoom_apps.append(zoom_apps_item)

        next_cursor: None | str
        next_cursor = self.next_cursor

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "zoomApps": zoom_apps,
                "nextCursor": next_cursor,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.zoom_app import ZoomApp

        d = dict(src_dict)
        zoom_apps = []
        _zoom_apps = d.pop("zoomApps")
        for zoom_apps_item_data in _zoom_apps:
            zoom_apps_item = ZoomApp.from_dict(zoom_apps_item_data)

            zoom_apps.append(zoom_apps_item)

        def _parse_next_cursor(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        next_cursor = _parse_next_cursor(d.pop("nextCursor"))

        zoom_app_page = cls(
            zoom_apps=zoom_apps,
            next_cursor=next_cursor,
        )

        zoom_app_page.additional_properties = d
        return zoom_app_page

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
