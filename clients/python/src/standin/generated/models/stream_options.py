from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.stream_options_audio import StreamOptionsAudio
from ..models.stream_options_events_item import StreamOptionsEventsItem
from ..models.stream_options_format import StreamOptionsFormat
from ..models.stream_options_sample_rate import StreamOptionsSampleRate
from ..types import UNSET, Unset

T = TypeVar("T", bound="StreamOptions")


@_attrs_define
class StreamOptions:
    """A receiver of the live sound of a meeting.

    Attributes:
        url (str): The WebSocket of the receiver, to which the service connects when the recording starts. The request
            is signed with
            the webhook secret in the headers of Standard Webhooks, with an empty body.
        audio (StreamOptionsAudio | Unset): `mixed`, the default: all participants together. `participants`: each
            participant on its own, where the meeting
            page has it. `both`: both.
        sample_rate (StreamOptionsSampleRate | Unset): Samples per second in both directions, by default 16000, and
            24000 with `meetingbaas`, which takes no 8000. `recall` takes
            16000 only, and `attendee` at most 24000.
        format_ (StreamOptionsFormat | Unset): The protocol, by default `standin`. The others are the formats of
            Recall.ai, Attendee and Meeting BaaS (which has
            `mixed` sound only), so that receivers for them can be used.
        send (bool | Unset): Whether the receiver sends sound that the bot plays into the meeting. Default: false. Not
            with `recall`.
        events (list[StreamOptionsEventsItem] | Unset): Events of `liveJob` that are sent as text messages beside the
            sound, from each connection
            on. `standin` has all of them, as the live stream does; `recall` all but `caption`; `meetingbaas` only
            `speaking`,
            which is its default; `attendee` none. The default of the others is none.
    """

    url: str
    audio: StreamOptionsAudio | Unset = UNSET
    sample_rate: StreamOptionsSampleRate | Unset = UNSET
    format_: StreamOptionsFormat | Unset = UNSET
    send: bool | Unset = UNSET
    events: list[StreamOptionsEventsItem] | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        url = self.url

        audio: str | Unset = UNSET
        if not isinstance(self.audio, Unset):
            audio = self.audio.value

        sample_rate: int | Unset = UNSET
        if not isinstance(self.sample_rate, Unset):
            sample_rate = self.sample_rate.value

        format_: str | Unset = UNSET
        if not isinstance(self.format_, Unset):
            format_ = self.format_.value

        send = self.send

        events: list[str] | Unset = UNSET
        if not isinstance(self.events, Unset):
            events = []
            for events_item_data in self.events:
                events_item = events_item_data.value
                events.append(events_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "url": url,
            }
        )
        if audio is not UNSET:
            field_dict["audio"] = audio
        if sample_rate is not UNSET:
            field_dict["sampleRate"] = sample_rate
        if format_ is not UNSET:
            field_dict["format"] = format_
        if send is not UNSET:
            field_dict["send"] = send
        if events is not UNSET:
            field_dict["events"] = events

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        url = d.pop("url")

        _audio = d.pop("audio", UNSET)
        audio: StreamOptionsAudio | Unset
        if isinstance(_audio, Unset):
            audio = UNSET
        else:
            audio = StreamOptionsAudio(_audio)

        _sample_rate = d.pop("sampleRate", UNSET)
        sample_rate: StreamOptionsSampleRate | Unset
        if isinstance(_sample_rate, Unset):
            sample_rate = UNSET
        else:
            sample_rate = StreamOptionsSampleRate(_sample_rate)

        _format_ = d.pop("format", UNSET)
        format_: StreamOptionsFormat | Unset
        if isinstance(_format_, Unset):
            format_ = UNSET
        else:
            format_ = StreamOptionsFormat(_format_)

        send = d.pop("send", UNSET)

        _events = d.pop("events", UNSET)
        events: list[StreamOptionsEventsItem] | Unset = UNSET
        if _events is not UNSET:
            events = []
            for events_item_data in _events:
                events_item = StreamOptionsEventsItem(events_item_data)

                events.append(events_item)

        stream_options = cls(
            url=url,
            audio=audio,
            sample_rate=sample_rate,
            format_=format_,
            send=send,
            events=events,
        )

        stream_options.additional_properties = d
        return stream_options

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
