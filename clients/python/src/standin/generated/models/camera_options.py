from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.output_page import OutputPage


T = TypeVar("T", bound="CameraOptions")


@_attrs_define
class CameraOptions:
    """What the bot shows as its camera from the start. Exactly one property is required.

    Attributes:
        image (OutputPage | Unset): A web page, which the bot opens at 1280x720 pixels in a browser session of its own.
            Others hear what it plays, and its microphone hears the meeting while that is recorded.
        page (OutputPage | Unset): A web page, which the bot opens at 1280x720 pixels in a browser session of its own.
            Others hear what it plays, and its microphone hears the meeting while that is recorded.
        name_card (bool | Unset): A card with the bot's name.
    """

    image: OutputPage | Unset = UNSET
    page: OutputPage | Unset = UNSET
    name_card: bool | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        image: dict[str, Any] | Unset = UNSET
        if not isinstance(self.image, Unset):
            image = self.image.to_dict()

        page: dict[str, Any] | Unset = UNSET
        if not isinstance(self.page, Unset):
            page = self.page.to_dict()

        name_card = self.name_card

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({})
        if image is not UNSET:
            field_dict["image"] = image
        if page is not UNSET:
            field_dict["page"] = page
        if name_card is not UNSET:
            field_dict["nameCard"] = name_card

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.output_page import OutputPage

        d = dict(src_dict)
        _image = d.pop("image", UNSET)
        image: OutputPage | Unset
        if isinstance(_image, Unset):
            image = UNSET
        else:
            image = OutputPage.from_dict(_image)

        _page = d.pop("page", UNSET)
        page: OutputPage | Unset
        if isinstance(_page, Unset):
            page = UNSET
        else:
            page = OutputPage.from_dict(_page)

        name_card = d.pop("nameCard", UNSET)

        camera_options = cls(
            image=image,
            page=page,
            name_card=name_card,
        )

        camera_options.additional_properties = d
        return camera_options

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
