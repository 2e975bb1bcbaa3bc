from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.output_file import OutputFile
    from ..models.output_page import OutputPage


T = TypeVar("T", bound="CameraPicture")


@_attrs_define
class CameraPicture:
    """What the bot shows as its camera. Exactly one property is required.

    Attributes:
        image (OutputFile | Unset): A file. Either `uri` or `data` is required.
        video (OutputFile | Unset): A file. Either `uri` or `data` is required.
        page (OutputPage | Unset): A web page, which the bot opens at 1280x720 pixels in a browser session of its own.
            Others hear what it plays, and its microphone hears the meeting while that is recorded.
        none (bool | Unset): Turns the camera off.
    """

    image: OutputFile | Unset = UNSET
    video: OutputFile | Unset = UNSET
    page: OutputPage | Unset = UNSET
    none: bool | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        image: dict[str, Any] | Unset = UNSET
        if not isinstance(self.image, Unset):
            image = self.image.to_dict()

        video: dict[str, Any] | Unset = UNSET
        if not isinstance(self.video, Unset):
            video = self.video.to_dict()

        page: dict[str, Any] | Unset = UNSET
        if not isinstance(self.page, Unset):
            page = self.page.to_dict()

        none = self.none

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({})
        if image is not UNSET:
            field_dict["image"] = image
        if video is not UNSET:
            field_dict["video"] = video
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

        _video = d.pop("video", UNSET)
        video: OutputFile | Unset
        if isinstance(_video, Unset):
            video = UNSET
        else:
            video = OutputFile.from_dict(_video)

        _page = d.pop("page", UNSET)
        page: OutputPage | Unset
        if isinstance(_page, Unset):
            page = UNSET
        else:
            page = OutputPage.from_dict(_page)

        none = d.pop("none", UNSET)

        camera_picture = cls(
            image=image,
            video=video,
            page=page,
            none=none,
        )

        camera_picture.additional_properties = d
        return camera_picture

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
