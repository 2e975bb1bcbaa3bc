from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.media_file_kind import MediaFileKind
from ..types import UNSET, Unset

T = TypeVar("T", bound="MediaFile")


@_attrs_define
class MediaFile:
    """A file of the recording. Browsers can play video and audio files and seek in them.

    Attributes:
        name (str): The name of the file, unique within this manifest.
        kind (MediaFileKind): The content of the file: video is the video and audio of the meeting, audio only its
            audio, participant_audio the audio of one participant, participant_video his video, screen_share a screen that
            he shared, chat the chat messages, captions the captions, and transcript the transcript, which is attached after
            the manifest is finalized.
        uri (str): The URL of the file. Requests need an API key of the consumer.
        content_type (str): The media type without parameters.
        codecs (str): The codecs parameter of the media type (RFC 6381), for example avc1.42E01F,mp4a.40.2. Empty for
            text files.
        bytes_ (int): The size of the file in bytes.
        sha256 (str): The SHA-256 of the file in lowercase hex.
        duration_ms (int): The duration in milliseconds, or 0 for text files.
        start_offset_ms (int): The offset of the start of the file, in milliseconds since timeline.recordingStartedAt.
        participant_id (str | Unset): For a file of one participant: the ID in participants. Missing if it is unknown.
        width (int | Unset): For video: the width in pixels.
        height (int | Unset): For video: the height in pixels.
    """

    name: str
    kind: MediaFileKind
    uri: str
    content_type: str
    codecs: str
    bytes_: int
    sha256: str
    duration_ms: int
    start_offset_ms: int
    participant_id: str | Unset = UNSET
    width: int | Unset = UNSET
    height: int | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        kind = self.kind.value

        uri = self.uri

        content_type = self.content_type

        codecs = self.codecs

        bytes_ = self.bytes_

        sha256 = self.sha256

        duration_ms = self.duration_ms

        start_offset_ms = self.start_offset_ms

        participant_id = self.participant_id

        width = self.width

        height = self.height

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "name": name,
                "kind": kind,
                "uri": uri,
                "contentType": content_type,
                "codecs": codecs,
                "bytes": bytes_,
                "sha256": sha256,
                "durationMs": duration_ms,
                "startOffsetMs": start_offset_ms,
            }
        )
        if participant_id is not UNSET:
            field_dict["participantId"] = participant_id
        if width is not UNSET:
            field_dict["width"] = width
        if height is not UNSET:
            field_dict["height"] = height

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        name = d.pop("name")

        kind = MediaFileKind(d.pop("kind"))

        uri = d.pop("uri")

        content_type = d.pop("contentType")

        codecs = d.pop("codecs")

        bytes_ = d.pop("bytes")

        sha256 = d.pop("sha256")

        duration_ms = d.pop("durationMs")

        start_offset_ms = d.pop("startOffsetMs")

        participant_id = d.pop("participantId", UNSET)

        width = d.pop("width", UNSET)

        height = d.pop("height", UNSET)

        media_file = cls(
            name=name,
            kind=kind,
            uri=uri,
            content_type=content_type,
            codecs=codecs,
            bytes_=bytes_,
            sha256=sha256,
            duration_ms=duration_ms,
            start_offset_ms=start_offset_ms,
            participant_id=participant_id,
            width=width,
            height=height,
        )

        media_file.additional_properties = d
        return media_file

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
