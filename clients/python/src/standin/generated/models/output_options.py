from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.camera_options import CameraOptions
    from ..models.output_on_join import OutputOnJoin


T = TypeVar("T", bound="OutputOptions")


@_attrs_define
class OutputOptions:
    """Allows the bot to play sound and to show pictures in the meeting: `play-audio`, `speak`, `camera` and `screen-
    share`. Without this
    option, and without a default of the team, these operations result in 409 `invalid_state`, and nothing of the
    meeting page's devices
    is changed. `{}` is enough. In a change of a job, it replaces the earlier one.

        Attributes:
            on_join (OutputOnJoin | Unset): What the bot plays when it is admitted. Either `uri` or `text` is required.
            replay_on_join (bool | Unset): Whether to play `onJoin` again when the bot rejoins the meeting. Default: false.
            camera (CameraOptions | Unset): What the bot shows as its camera from the start. Exactly one property is
                required.
    """

    on_join: OutputOnJoin | Unset = UNSET
    replay_on_join: bool | Unset = UNSET
    camera: CameraOptions | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        on_join: dict[str, Any] | Unset = UNSET
        if not isinstance(self.on_join, Unset):
            on_join = self.on_join.to_dict()

        replay_on_join = self.replay_on_join

        camera: dict[str, Any] | Unset = UNSET
        if not isinstance(self.camera, Unset):
            camera = self.camera.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({})
        if on_join is not UNSET:
            field_dict["onJoin"] = on_join
        if replay_on_join is not UNSET:
            field_dict["replayOnJoin"] = replay_on_join
        if camera is not UNSET:
            field_dict["camera"] = camera

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.camera_options import CameraOptions
        from ..models.output_on_join import OutputOnJoin

        d = dict(src_dict)
        _on_join = d.pop("onJoin", UNSET)
        on_join: OutputOnJoin | Unset
        if isinstance(_on_join, Unset):
            on_join = UNSET
        else:
            on_join = OutputOnJoin.from_dict(_on_join)

        replay_on_join = d.pop("replayOnJoin", UNSET)

        _camera = d.pop("camera", UNSET)
        camera: CameraOptions | Unset
        if isinstance(_camera, Unset):
            camera = UNSET
        else:
            camera = CameraOptions.from_dict(_camera)

        output_options = cls(
            on_join=on_join,
            replay_on_join=replay_on_join,
            camera=camera,
        )

        output_options.additional_properties = d
        return output_options

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
