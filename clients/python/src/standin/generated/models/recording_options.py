from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.recording_options_capture import RecordingOptionsCapture
from ..models.recording_options_layout import RecordingOptionsLayout
from ..models.recording_options_mode import RecordingOptionsMode
from ..models.recording_options_resolution import RecordingOptionsResolution
from ..types import UNSET, Unset

T = TypeVar("T", bound="RecordingOptions")


@_attrs_define
class RecordingOptions:
    """What is recorded. An option that is not set is the team's, or else the service's, setting.

    Attributes:
        mode (RecordingOptionsMode | Unset): `video`: video with audio. `audio`: audio only. `none`: nothing is
            recorded; the manifest has who was in the
            meeting, who spoke when, and chat messages and captions where they are enabled, and its offsets are relative to
            `timeline.admittedAt`. A job cannot record more than the service's setting allows.
        layout (RecordingOptionsLayout | Unset): What the video shows. `speaker`: shared content or else the active
            speaker large, others small beside it.
            `gallery`: everyone in tiles of equal size. `content`: shared content as large as possible, beside the active
            speaker; without shared content as `speaker`. `page`: the meeting page as a participant sees it. Except with
            `page`, the bot's own tiles and the page's controls are hidden from the video.
        resolution (RecordingOptionsResolution | Unset): The size of the video, 1280x720 or 1920x1080. The video bit
            rate changes in proportion.
        participant_audio (bool | Unset): Whether the audio of each participant is recorded in separate files too.
        capture (RecordingOptionsCapture | Unset): What is recorded of the video. `tab`: the picture of the meeting
            page. `streams`: the video of each participant as
            it is received, in a file of its own, which costs much less; there is no file with the whole picture. If the
            page
            does not let the bot take the streams, the bot records the picture.
    """

    mode: RecordingOptionsMode | Unset = UNSET
    layout: RecordingOptionsLayout | Unset = UNSET
    resolution: RecordingOptionsResolution | Unset = UNSET
    participant_audio: bool | Unset = UNSET
    capture: RecordingOptionsCapture | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        mode: str | Unset = UNSET
        if not isinstance(self.mode, Unset):
            mode = self.mode.value

        layout: str | Unset = UNSET
        if not isinstance(self.layout, Unset):
            layout = self.layout.value

        resolution: str | Unset = UNSET
        if not isinstance(self.resolution, Unset):
            resolution = self.resolution.value

        participant_audio = self.participant_audio

        capture: str | Unset = UNSET
        if not isinstance(self.capture, Unset):
            capture = self.capture.value

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({})
        if mode is not UNSET:
            field_dict["mode"] = mode
        if layout is not UNSET:
            field_dict["layout"] = layout
        if resolution is not UNSET:
            field_dict["resolution"] = resolution
        if participant_audio is not UNSET:
            field_dict["participantAudio"] = participant_audio
        if capture is not UNSET:
            field_dict["capture"] = capture

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        _mode = d.pop("mode", UNSET)
        mode: RecordingOptionsMode | Unset
        if isinstance(_mode, Unset):
            mode = UNSET
        else:
            mode = RecordingOptionsMode(_mode)

        _layout = d.pop("layout", UNSET)
        layout: RecordingOptionsLayout | Unset
        if isinstance(_layout, Unset):
            layout = UNSET
        else:
            layout = RecordingOptionsLayout(_layout)

        _resolution = d.pop("resolution", UNSET)
        resolution: RecordingOptionsResolution | Unset
        if isinstance(_resolution, Unset):
            resolution = UNSET
        else:
            resolution = RecordingOptionsResolution(_resolution)

        participant_audio = d.pop("participantAudio", UNSET)

        _capture = d.pop("capture", UNSET)
        capture: RecordingOptionsCapture | Unset
        if isinstance(_capture, Unset):
            capture = UNSET
        else:
            capture = RecordingOptionsCapture(_capture)

        recording_options = cls(
            mode=mode,
            layout=layout,
            resolution=resolution,
            participant_audio=participant_audio,
            capture=capture,
        )

        recording_options.additional_properties = d
        return recording_options

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
