from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from dateutil.parser import isoparse

from ..models.job_create_sign_in import JobCreateSignIn
from ..models.platform import Platform
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.auto_leave_config import AutoLeaveConfig
    from ..models.captions_options import CaptionsOptions
    from ..models.consent_options import ConsentOptions
    from ..models.job_create_metadata import JobCreateMetadata
    from ..models.output_options import OutputOptions
    from ..models.recording_options import RecordingOptions
    from ..models.simulation import Simulation
    from ..models.stream_options import StreamOptions
    from ..models.transcript_options import TranscriptOptions
    from ..models.webhooks import Webhooks


T = TypeVar("T", bound="JobCreate")


@_attrs_define
class JobCreate:
    """A request to send a bot into a meeting.

    Attributes:
        external_id (str): Your own ID for the job. It is the idempotency key and unique within your consumer.
        meeting_url (str): The URL of the meeting, an absolute http or https URL.
        platform (Platform | Unset): The meeting platform: `meet` is Google Meet, `teams` is Microsoft Teams, `zoom-web`
            is the Zoom
            web client, and `zoom-sdk` is Zoom's Realtime Media Streams. If the service receives no streams, `zoom-sdk`
            fails at
            dispatch.
        join_at (datetime.datetime | Unset): When to join. If omitted or in the past, the bot joins immediately.
        display_name (str | Unset): The name shown to other participants, on one line and cut to 1000 characters. A
            blank name becomes the default. Default: Standin.
        webhooks (Webhooks | Unset): The URLs that receive the events of this job.
        metadata (JobCreateMetadata | Unset): Any object, up to 256 KiB as JSON. It is included in the job and in
            webhooks. Some keys are aliases of options and apply if the option itself is not set: `title`, `recordingMode`
            (`recording.mode`), `participantAudio` (`recording.participantAudio`), `captions` (`captions.enabled`),
            `captionsLanguage` (`captions.language`), `chat`, `transcript` (`transcript.enabled`), `recordingPermission`
            (`consent.required`) and, with test keys, `simulate`. A value of them that cannot be used is ignored, and the
            header `X-Standin-Warning` names the key; but `recordingPermission` with any other value than `false` counts as
            true.
        auto_leave (AutoLeaveConfig | Unset): When the bot leaves. It leaves as soon as any of the limits is reached.
        title (str | Unset): The title of the meeting, which the details of the job contain.
        sign_in (JobCreateSignIn | Unset): Whether the bot signs in to the platform with an account: `ifRequired` (the
            default, unless your team has another) when an
            account is on the invitation or the page refuses guests, `always`, or `never`.
        account (str | Unset): The account to sign in with: its ID, its label, or the name of a group. By default, any
            that the team may use.
        start_before (datetime.datetime | Unset): When it is too late to send the bot, because the meeting is over:
            after `joinAt`. A job without a bot fails then with
            `dispatch_timeout`; a bot that was in the meeting and is lost is replaced later too. By default, the service's
            setting,
            30 minutes after `joinAt` or the creation of the job, whichever is later.
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
        simulate (Simulation | Unset): What happens to the simulated bot of a test job. With a live key, this option is
            invalid.
        dedupe (bool | Unset): By default false. Return another job instead of creating one, if a job of the consumer in
            the same mode sends a bot into the same
            meeting, however its link is written, and it is in the meeting or its time is within 15 minutes of `joinAt`.
            The `externalId` of the request is not used then.
    """

    external_id: str
    meeting_url: str
    platform: Platform | Unset = UNSET
    join_at: datetime.datetime | Unset = UNSET
    display_name: str | Unset = UNSET
    webhooks: Webhooks | Unset = UNSET
    metadata: JobCreateMetadata | Unset = UNSET
    auto_leave: AutoLeaveConfig | Unset = UNSET
    title: str | Unset = UNSET
    sign_in: JobCreateSignIn | Unset = UNSET
    account: str | Unset = UNSET
    start_before: datetime.datetime | Unset = UNSET
    recording: RecordingOptions | Unset = UNSET
    captions: CaptionsOptions | Unset = UNSET
    chat: bool | Unset = UNSET
    transcript: TranscriptOptions | Unset = UNSET
    consent: ConsentOptions | Unset = UNSET
    streams: list[StreamOptions] | Unset = UNSET
    output: OutputOptions | Unset = UNSET
    simulate: Simulation | Unset = UNSET
    dedupe: bool | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        external_id = self.external_id

        meeting_url = self.meeting_url

        platform: str | Unset = UNSET
        if not isinstance(self.platform, Unset):
            platform = self.platform.value

        join_at: str | Unset = UNSET
        if not isinstance(self.join_at, Unset):
            join_at = self.join_at.isoformat()

        display_name = self.display_name

        webhooks: dict[str, Any] | Unset = UNSET
        if not isinstance(self.webhooks, Unset):
            webhooks = self.webhooks.to_dict()

        metadata: dict[str, Any] | Unset = UNSET
        if not isinstance(self.metadata, Unset):
            metadata = self.metadata.to_dict()

        auto_leave: dict[str, Any] | Unset = UNSET
        if not isinstance(self.auto_leave, Unset):
            auto_leave = self.auto_leave.to_dict()

        title = self.title

        sign_in: str | Unset = UNSET
        if not isinstance(self.sign_in, Unset):
            sign_in = self.sign_in.value

        account = self.account

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

        simulate: dict[str, Any] | Unset = UNSET
        if not isinstance(self.simulate, Unset):
            simulate = self.simulate.to_dict()

        dedupe = self.dedupe

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "externalId": external_id,
                "meetingUrl": meeting_url,
            }
        )
        if platform is not UNSET:
            field_dict["platform"] = platform
        if join_at is not UNSET:
            field_dict["joinAt"] = join_at
        if display_name is not UNSET:
            field_dict["displayName"] = display_name
        if webhooks is not UNSET:
            field_dict["webhooks"] = webhooks
        if metadata is not UNSET:
            field_dict["metadata"] = metadata
        if auto_leave is not UNSET:
            field_dict["autoLeave"] = auto_leave
        if title is not UNSET:
            field_dict["title"] = title
        if sign_in is not UNSET:
            field_dict["signIn"] = sign_in
        if account is not UNSET:
            field_dict["account"] = account
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
        if simulate is not UNSET:
            field_dict["simulate"] = simulate
        if dedupe is not UNSET:
            field_dict["dedupe"] = dedupe

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.auto_leave_config import AutoLeaveConfig
        from ..models.captions_options import CaptionsOptions
        from ..models.consent_options import ConsentOptions
        from ..models.job_create_metadata import JobCreateMetadata
        from ..models.output_options import OutputOptions
        from ..models.recording_options import RecordingOptions
        from ..models.simulation import Simulation
        from ..models.stream_options import StreamOptions
        from ..models.transcript_options import TranscriptOptions
        from ..models.webhooks import Webhooks

        d = dict(src_dict)
        external_id = d.pop("externalId")

        meeting_url = d.pop("meetingUrl")

        _platform = d.pop("platform", UNSET)
        platform: Platform | Unset
        if isinstance(_platform, Unset):
            platform = UNSET
        else:
            platform = Platform(_platform)

        _join_at = d.pop("joinAt", UNSET)
        join_at: datetime.datetime | Unset
        if isinstance(_join_at, Unset):
            join_at = UNSET
        else:
            join_at = isoparse(_join_at)

        display_name = d.pop("displayName", UNSET)

        _webhooks = d.pop("webhooks", UNSET)
        webhooks: Webhooks | Unset
        if isinstance(_webhooks, Unset):
            webhooks = UNSET
        else:
            webhooks = Webhooks.from_dict(_webhooks)

        _metadata = d.pop("metadata", UNSET)
        metadata: JobCreateMetadata | Unset
        if isinstance(_metadata, Unset):
            metadata = UNSET
        else:
            metadata = JobCreateMetadata.from_dict(_metadata)

        _auto_leave = d.pop("autoLeave", UNSET)
        auto_leave: AutoLeaveConfig | Unset
        if isinstance(_auto_leave, Unset):
            auto_leave = UNSET
        else:
            auto_leave = AutoLeaveConfig.from_dict(_auto_leave)

        title = d.pop("title", UNSET)

        _sign_in = d.pop("signIn", UNSET)
        sign_in: JobCreateSignIn | Unset
        if isinstance(_sign_in, Unset):
            sign_in = UNSET
        else:
            sign_in = JobCreateSignIn(_sign_in)

        account = d.pop("account", UNSET)

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

        _simulate = d.pop("simulate", UNSET)
        simulate: Simulation | Unset
        if isinstance(_simulate, Unset):
            simulate = UNSET
        else:
            simulate = Simulation.from_dict(_simulate)

        dedupe = d.pop("dedupe", UNSET)

        job_create = cls(
            external_id=external_id,
            meeting_url=meeting_url,
            platform=platform,
            join_at=join_at,
            display_name=display_name,
            webhooks=webhooks,
            metadata=metadata,
            auto_leave=auto_leave,
            title=title,
            sign_in=sign_in,
            account=account,
            start_before=start_before,
            recording=recording,
            captions=captions,
            chat=chat,
            transcript=transcript,
            consent=consent,
            streams=streams,
            output=output,
            simulate=simulate,
            dedupe=dedupe,
        )

        job_create.additional_properties = d
        return job_create

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
