from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from dateutil.parser import isoparse

T = TypeVar("T", bound="ManifestTimeline")


@_attrs_define
class ManifestTimeline:
    """Times of the bot's stay in the meeting. A time is null if the event did not happen or its time is unknown. If there
    were several attempts, the timeline covers all of them, from the start of the first to the end of the last.

        Attributes:
            joined_at (datetime.datetime | None): When the bot asked to join.
            admitted_at (datetime.datetime | None): When the bot was admitted to the meeting.
            recording_started_at (datetime.datetime | None): When the recording started; null if nothing was recorded, as
                with the option recording.mode none. All offsets are relative to this time.
            recording_stopped_at (datetime.datetime | None): When the stored recording ended.
            left_at (datetime.datetime | None): When the bot left the meeting.
    """

    joined_at: datetime.datetime | None
    admitted_at: datetime.datetime | None
    recording_started_at: datetime.datetime | None
    recording_stopped_at: datetime.datetime | None
    left_at: datetime.datetime | None
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        joined_at: None | str
        if isinstance(self.joined_at, datetime.datetime):
            joined_at = self.joined_at.isoformat()
        else:
            joined_at = self.joined_at

        admitted_at: None | str
        if isinstance(self.admitted_at, datetime.datetime):
            admitted_at = self.admitted_at.isoformat()
        else:
            admitted_at = self.admitted_at

        recording_started_at: None | str
        if isinstance(self.recording_started_at, datetime.datetime):
            recording_started_at = self.recording_started_at.isoformat()
        else:
            recording_started_at = self.recording_started_at

        recording_stopped_at: None | str
        if isinstance(self.recording_stopped_at, datetime.datetime):
            recording_stopped_at = self.recording_stopped_at.isoformat()
        else:
            recording_stopped_at = self.recording_stopped_at

        left_at: None | str
        if isinstance(self.left_at, datetime.datetime):
            left_at = self.left_at.isoformat()
        else:
            left_at = self.left_at

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "joinedAt": joined_at,
                "admittedAt": admitted_at,
                "recordingStartedAt": recording_started_at,
                "recordingStoppedAt": recording_stopped_at,
                "leftAt": left_at,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_joined_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                joined_at_type_0 = isoparse(data)

                return joined_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        joined_at = _parse_joined_at(d.pop("joinedAt"))

        def _parse_admitted_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                admitted_at_type_0 = isoparse(data)

                return admitted_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        admitted_at = _parse_admitted_at(d.pop("admittedAt"))

        def _parse_recording_started_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                recording_started_at_type_0 = isoparse(data)

                return recording_started_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        recording_started_at = _parse_recording_started_at(d.pop("recordingStartedAt"))

        def _parse_recording_stopped_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                recording_stopped_at_type_0 = isoparse(data)

                return recording_stopped_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        recording_stopped_at = _parse_recording_stopped_at(d.pop("recordingStoppedAt"))

        def _parse_left_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                left_at_type_0 = isoparse(data)

                return left_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        left_at = _parse_left_at(d.pop("leftAt"))

        manifest_timeline = cls(
            joined_at=joined_at,
            admitted_at=admitted_at,
            recording_started_at=recording_started_at,
            recording_stopped_at=recording_stopped_at,
            left_at=left_at,
        )

        manifest_timeline.additional_properties = d
        return manifest_timeline

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
