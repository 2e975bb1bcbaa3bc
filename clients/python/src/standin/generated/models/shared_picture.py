from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.output_file import OutputFile
    from ..models.output_page import OutputPage


T = TypeVar("T", bound="SharedPicture")


@_attrs_define
class SharedPicture:
    """What the bot shares as its screen. Exactly one property is required.

    Attributes:
        image (OutputFile | Unset): A file. Either `uri` or `data` is required.
        page (OutputPage | Unset): A web page, which the bot opens at 1280x720 pixels in a browser session of its own.
            Others hear what it plays, and its microphone hears the meeting while that is recorded.
        none (bool | Unset): Ends the screen share.
    """

    image: OutputFile | Unset = UNSET
    page: OutputPage | Unset = UNSET
    none: bool | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        image: dict[str, Any] | Unset = UNSET
        if not isinstance(self.image, Unset):
            image = self.image.to_dict()

        page: dict[str, Any] | Unset = UNSET
        if not isinstance(self.page, Unset):
            page = self.page.to_dict()

        none = self.none

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({})
        if image is not UNSET:
            field_dict["image"] = image
        if page is not UNSET:
            field_dict["page"] = page
        if none is not UNSET:
            field_dict["none"] = none

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.output_file import OutputFile
        from ..models.output_page import OutputPage

        d = dict(src_dict)
        _image = d.pop("image", UNSET)
        image: OutputFile | Unset
        if isinstance(_image, Unset):
            image = UNSET
        else:
            image = OutputFile.from_dict(_image)

        _page = d.pop("page", UNSET)
        page: OutputPage | Unset
        if isinstance(_page, Unset):
            page = UNSET
        else:
            page = OutputPage.from_dict(_page)

        none = d.pop("none", UNSET)

        shared_picture = cls(
            image=image,
            page=page,
            none=none,
        )

        shared_picture.additional_properties = d
        return shared_picture

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
