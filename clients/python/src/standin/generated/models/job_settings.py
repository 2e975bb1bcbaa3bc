from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from dateutil.parser import isoparse

from ..models.job_settings_sign_in import JobSettingsSignIn
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.captions_options import CaptionsOptions
    from ..models.consent_options import ConsentOptions
    from ..models.job_webhooks import JobWebhooks
    from ..models.output_options import OutputOptions
    from ..models.recording_options import RecordingOptions
    from ..models.simulation import Simulation
    from ..models.stream_options import StreamOptions
    from ..models.transcript_options import TranscriptOptions


T = TypeVar("T", bound="JobSettings")


@_attrs_define
class JobSettings:
    """Job settings that are not part of the Job.

    Attributes:
        display_name (str): The name shown to other participants.
        webhooks (JobWebhooks): The URLs that receive the events of the job. If null, the default URL of the consumer
            receives them.
        title (str | Unset): The title of the meeting.
        start_before (datetime.datetime | Unset): When it is too late to send the bot. For a calendar event, its end.
        recording (RecordingOptions | Unset): What is recorded. An option that is not set is the team's, or else the
            service's, setting.
        captions (CaptionsOptions | Unset): The live captions of the meeting platform. An option that is not set is the
            service's setting.
        chat (bool | Unset): Whether the bot records the messages in the chat of the meeting. By default, the service's
            setting.
        transcript (TranscriptOptions | Unset): The transcript that the service makes of the meeting, if its operator
            has configured a transcriber.
        consent (ConsentOptions | Unset): Permission to record.
        streams (list[StreamOptions] | Unset): The receivers of the live sound.
        output (OutputOptions | Unset): Allows the bot to play sound and to show pictures in the meeting: `play-audio`,
            `speak`, `camera` and `screen-share`. Without this
            option, and without a default of the team, these operations result in 409 `invalid_state`, and nothing of the
            meeting page's devices
            is changed. `{}` is enough. In a change of a job, it replaces the earlier one.
        sign_in (JobSettingsSignIn | Unset): Whether the bot signs in to the platform with an account: `ifRequired` (the
            default, unless your team has another) when an
            account is on the invitation or the page refuses guests, `always`, or `never`.
        account (str | Unset): The account to sign in with: its ID, its label, or the name of a group. By default, any
            that the team may use.
        simulate (Simulation | Unset): What happens to the simulated bot of a test job. With a live key, this option is
            invalid.
    """

    display_name: str
    webhooks: JobWebhooks
    title: str | Unset = UNSET
    start_before: datetime.datetime | Unset = UNSET
    recording: RecordingOptions | Unset = UNSET
    captions: CaptionsOptions | Unset = UNSET
    chat: bool | Unset = UNSET
    transcript: TranscriptOptions | Unset = UNSET
    consent: ConsentOptions | Unset = UNSET
    streams: list[StreamOptions] | Unset = UNSET
    output: OutputOptions | Unset = UNSET
    sign_in: JobSettingsSignIn | Unset = UNSET
    account: str | Unset = UNSET
    simulate: Simulation | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        display_name = self.display_name

        webhooks = self.webhooks.to_dict()

        title = self.title

        start_before: str | Unset = UNSET
        if not isinstance(self.start_before, Unset):
            start_before = self.start_before.isoformat()

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

        sign_in: str | Unset = UNSET
        if not isinstance(self.sign_in, Unset):
            sign_in = self.sign_in.value

        account = self.account

        simulate: dict[str, Any] | Unset = UNSET
        if not isinstance(self.simulate, Unset):
            simulate = self.simulate.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "displayName": display_name,
                "webhooks": webhooks,
            }
        )
        if title is not UNSET:
            field_dict["title"] = title
        if start_before is not UNSET:
            field_dict["startBefore"] = start_before
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
        if sign_in is not UNSET:
            field_dict["signIn"] = sign_in
        if account is not UNSET:
            field_dict["account"] = account
        if simulate is not UNSET:
            field_dict["simulate"] = simulate

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.captions_options import CaptionsOptions
        from ..models.consent_options import ConsentOptions
        from ..models.job_webhooks import JobWebhooks
        from ..models.output_options import OutputOptions
        from ..models.recording_options import RecordingOptions
        from ..models.simulation import Simulation
        from ..models.stream_options import StreamOptions
        from ..models.transcript_options import TranscriptOptions

        d = dict(src_dict)
        display_name = d.pop("displayName")

        webhooks = JobWebhooks.from_dict(d.pop("webhooks"))

        title = d.pop("title", UNSET)

        _start_before = d.pop("startBefore", UNSET)
        start_before: datetime.datetime | Unset
        if isinstance(_start_before, Unset):
            start_before = UNSET
        else:
            start_before = isoparse(_start_before)

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

        _sign_in = d.pop("signIn", UNSET)
        sign_in: JobSettingsSignIn | Unset
        if isinstance(_sign_in, Unset):
            sign_in = UNSET
        else:
            sign_in = JobSettingsSignIn(_sign_in)

        account = d.pop("account", UNSET)

        _simulate = d.pop("simulate", UNSET)
        simulate: Simulation | Unset
        if isinstance(_simulate, Unset):
            simulate = UNSET
        else:
            simulate = Simulation.from_dict(_simulate)

        job_settings = cls(
            display_name=display_name,
            webhooks=webhooks,
            title=title,
            start_before=start_before,
            recording=recording,
            captions=captions,
            chat=chat,
            transcript=transcript,
            consent=consent,
            streams=streams,
            output=output,
            sign_in=sign_in,
            account=account,
            simulate=simulate,
        )

        job_settings.additional_properties = d
        return job_settings

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
