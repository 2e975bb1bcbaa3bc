from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.auto_leave_patch import AutoLeavePatch
    from ..models.captions_options import CaptionsOptions
    from ..models.consent_options import ConsentOptions
    from ..models.output_options import OutputOptions
    from ..models.recording_options import RecordingOptions
    from ..models.stream_options import StreamOptions
    from ..models.transcript_options import TranscriptOptions
    from ..models.webhooks import Webhooks


T = TypeVar("T", bound="CalendarJob")


@_attrs_define
class CalendarJob:
    """Settings of the jobs of a calendar. Those that are not set are the defaults of jobs.

    Attributes:
        display_name (str | Unset): The name shown to other participants.
        webhooks (Webhooks | Unset): The URLs that receive the events of this job.
        auto_leave (AutoLeavePatch | Unset): Changes to single settings, with the same bounds as for a new job.
        recording (RecordingOptions | Unset): What is recorded. An option that is not set is the team's, or else the
            service's, setting.
        captions (CaptionsOptions | Unset): The live captions of the meeting platform. An option that is not set is the
            service's setting.
        chat (bool | Unset): Whether the bot records the messages in the chat of the meeting. By default, the service's
            setting.
        transcript (TranscriptOptions | Unset): The transcript that the service makes of the meeting, if its operator
            has configured a transcriber.
        consent (ConsentOptions | Unset): Permission to record.
        streams (list[StreamOptions] | Unset): Receivers to which the service sends the live sound of the meeting. The
            guide *Follow a meeting live* describes the messages.
            In a change of a job, the list replaces the earlier one.
        output (OutputOptions | Unset): Allows the bot to play sound and to show pictures in the meeting: `play-audio`,
            `speak`, `camera` and `screen-share`. Without this
            option, and without a default of the team, these operations result in 409 `invalid_state`, and nothing of the
            meeting page's devices
            is changed. `{}` is enough. In a change of a job, it replaces the earlier one.
    """

    display_name: str | Unset = UNSET
    webhooks: Webhooks | Unset = UNSET
    auto_leave: AutoLeavePatch | Unset = UNSET
    recording: RecordingOptions | Unset = UNSET
    captions: CaptionsOptions | Unset = UNSET
    chat: bool | Unset = UNSET
    transcript: TranscriptOptions | Unset = UNSET
    consent: ConsentOptions | Unset = UNSET
    streams: list[StreamOptions] | Unset = UNSET
    output: OutputOptions | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        display_name = self.display_name

        webhooks: dict[str, Any] | Unset = UNSET
        if not isinstance(self.webhooks, Unset):
            webhooks = self.webhooks.to_dict()

        auto_leave: dict[str, Any] | Unset = UNSET
        if not isinstance(self.auto_leave, Unset):
            auto_leave = self.auto_leave.to_dict()

        recording: dict[str, Any] | Unset = UNSET
        if not isinstance(self.recording, Unset):
            recording = self.recording.to_dict()

        captions: dict[str, Any] | Unset = UNSET
        if not isinstance(self.captions, Unset):
            captions = self.captions.to_dict()

        chat = self.chat

        transcript: dict[str, Any] | Unset = UNSET
        if not isinstance(self.transcript, Unset):
            transcript = self.transcript.to_dict()

        consent: dict[str, Any] | Unset = UNSET
        if not isinstance(self.consent, Unset):
            consent = self.consent.to_dict()

        streams: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.streams, Unset):
            streams = []
            for streams_item_data in self.streams:
                streams_item = streams_item_data.to_dict()
                streams.append(streams_item)

        output: dict[str, Any] | Unset = UNSET
        if not isinstance(self.output, Unset):
            output = self.output.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({})
        if display_name is not UNSET:
            field_dict["displayName"] = display_name
        if webhooks is not UNSET:
            field_dict["webhooks"] = webhooks
        if auto_leave is not UNSET:
            field_dict["autoLeave"] = auto_leave
        if recording is not UNSET:
            field_dict["recording"] = recording
        if captions is not UNSET:
            field_dict["captions"] = captions
        if chat is not UNSET:
            field_dict["chat"] = chat
        if transcript is not UNSET:
            field_dict["transcript"] = transcript
        if consent is not UNSET:
            field_dict["consent"] = consent
        if streams is not UNSET:
            field_dict["streams"] = streams
        if output is not UNSET:
            field_dict["output"] = output

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.auto_leave_patch import AutoLeavePatch
        from ..models.captions_options import CaptionsOptions
        from ..models.consent_options import ConsentOptions
        from ..models.output_options import OutputOptions
        from ..models.recording_options import RecordingOptions
        from ..models.stream_options import StreamOptions
        from ..models.transcript_options import TranscriptOptions
        from ..models.webhooks import Webhooks

        d = dict(src_dict)
        display_name = d.pop("displayName", UNSET)

        _webhooks = d.pop("webhooks", UNSET)
        webhooks: Webhooks | Unset
        if isinstance(_webhooks, Unset):
            webhooks = UNSET
        else:
            webhooks = Webhooks.from_dict(_webhooks)

        _auto_leave = d.pop("autoLeave", UNSET)
        auto_leave: AutoLeavePatch | Unset
        if isinstance(_auto_leave, Unset):
            auto_leave = UNSET
        else:
            auto_leave = AutoLeavePatch.from_dict(_auto_leave)

        _recording = d.pop("recording", UNSET)
        recording: RecordingOptions | Unset
        if isinstance(_recording, Unset):
            recording = UNSET
        else:
            recording = RecordingOptions.from_dict(_recording)

        _captions = d.pop("captions", UNSET)
        captions: CaptionsOptions | Unset
        if isinstance(_captions, Unset):
            captions = UNSET
        else:
            captions = CaptionsOptions.from_dict(_captions)

        chat = d.pop("chat", UNSET)

        _transcript = d.pop("transcript", UNSET)
        transcript: TranscriptOptions | Unset
        if isinstance(_transcript, Unset):
            transcript = UNSET
        else:
            transcript = TranscriptOptions.from_dict(_transcript)

        _consent = d.pop("consent", UNSET)
        consent: ConsentOptions | Unset
        if isinstance(_consent, Unset):
            consent = UNSET
        else:
            consent = ConsentOptions.from_dict(_consent)

        _streams = d.pop("streams", UNSET)
        streams: list[StreamOptions] | Unset = UNSET
        if _streams is not UNSET:
            streams = []
            for streams_item_data in _streams:
                streams_item = StreamOptions.from_dict(streams_item_data)

                streams.append(streams_item)

        _output = d.pop("output", UNSET)
        output: OutputOptions | Unset
        if isinstance(_output, Unset):
            output = UNSET
        else:
            output = OutputOptions.from_dict(_output)

        calendar_job = cls(
            display_name=display_name,
            webhooks=webhooks,
            auto_leave=auto_leave,
            recording=recording,
            captions=captions,
            chat=chat,
            transcript=transcript,
            consent=consent,
            streams=streams,
            output=output,
        )

        calendar_job.additional_properties = d
        return calendar_job

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
