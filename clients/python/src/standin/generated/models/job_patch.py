from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from dateutil.parser import isoparse

from ..models.job_patch_sign_in import JobPatchSignIn
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.auto_leave_patch import AutoLeavePatch
    from ..models.captions_options import CaptionsOptions
    from ..models.consent_options import ConsentOptions
    from ..models.job_patch_metadata import JobPatchMetadata
    from ..models.job_patch_webhooks import JobPatchWebhooks
    from ..models.output_options import OutputOptions
    from ..models.recording_options import RecordingOptions
    from ..models.simulation import Simulation
    from ..models.stream_options import StreamOptions
    from ..models.transcript_options import TranscriptOptions


T = TypeVar("T", bound="JobPatch")


@_attrs_define
class JobPatch:
    """Changes to a job that is not yet dispatched.

    Attributes:
        join_at (datetime.datetime | Unset): When to join. `startBefore` moves with it.
        display_name (str | Unset): The name shown to other participants. A blank name becomes the default.
        webhooks (JobPatchWebhooks | Unset): Changes to single URLs. null removes a URL.
        metadata (JobPatchMetadata | Unset): Replaces all metadata. Up to 256 KiB as JSON.
        auto_leave (AutoLeavePatch | Unset): Changes to single settings, with the same bounds as for a new job.
        title (None | str | Unset): The title of the meeting. null removes it.
        start_before (datetime.datetime | None | Unset): When it is too late to send the bot. null removes it.
        recording (RecordingOptions | Unset): What is recorded. An option that is not set is the team's, or else the
            service's, setting.
        captions (CaptionsOptions | Unset): The live captions of the meeting platform. An option that is not set is the
            service's setting.
        chat (bool | Unset): Whether the bot records the messages in the chat of the meeting. By default, the service's
            setting.
        transcript (TranscriptOptions | Unset): The transcript that the service makes of the meeting, if its operator
            has configured a transcriber.
        consent (ConsentOptions | Unset): Permission to record.
        sign_in (JobPatchSignIn | Unset): Whether the bot signs in to the platform with an account: `ifRequired` (the
            default, unless your team has another) when an
            account is on the invitation or the page refuses guests, `always`, or `never`.
        account (str | Unset): The account to sign in with: its ID, its label, or the name of a group. By default, any
            that the team may use.
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
        id (Any | Unset): Cannot be changed.
        external_id (Any | Unset): Cannot be changed.
        status (Any | Unset): Cannot be changed.
        meeting_url (Any | Unset): Cannot be changed.
        platform (Any | Unset): Cannot be changed.
        attempts (Any | Unset): Cannot be changed.
        created_at (Any | Unset): Cannot be changed.
        started_at (Any | Unset): Cannot be changed.
        finalized_at (Any | Unset): Cannot be changed.
        manifest_uri (Any | Unset): Cannot be changed.
        failure_code (Any | Unset): Cannot be changed.
        failure_detail (Any | Unset): Cannot be changed.
    """

    join_at: datetime.datetime | Unset = UNSET
    display_name: str | Unset = UNSET
    webhooks: JobPatchWebhooks | Unset = UNSET
    metadata: JobPatchMetadata | Unset = UNSET
    auto_leave: AutoLeavePatch | Unset = UNSET
    title: None | str | Unset = UNSET
    start_before: datetime.datetime | None | Unset = UNSET
    recording: RecordingOptions | Unset = UNSET
    captions: CaptionsOptions | Unset = UNSET
    chat: bool | Unset = UNSET
    transcript: TranscriptOptions | Unset = UNSET
    consent: ConsentOptions | Unset = UNSET
    sign_in: JobPatchSignIn | Unset = UNSET
    account: str | Unset = UNSET
    streams: list[StreamOptions] | Unset = UNSET
    output: OutputOptions | Unset = UNSET
    simulate: Simulation | Unset = UNSET
    id: Any | Unset = UNSET
    external_id: Any | Unset = UNSET
    status: Any | Unset = UNSET
    meeting_url: Any | Unset = UNSET
    platform: Any | Unset = UNSET
    attempts: Any | Unset = UNSET
    created_at: Any | Unset = UNSET
    started_at: Any | Unset = UNSET
    finalized_at: Any | Unset = UNSET
    manifest_uri: Any | Unset = UNSET
    failure_code: Any | Unset = UNSET
    failure_detail: Any | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
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

        title: None | str | Unset
        if isinstance(self.title, Unset):
            title = UNSET
        else:
            title = self.title

        start_before: None | str | Unset
        if isinstance(self.start_before, Unset):
            start_before = UNSET
        elif isinstance(self.start_before, datetime.datetime):
            start_before = self.start_before.isoformat()
        else:
            start_before = self.start_before

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

        sign_in: str | Unset = UNSET
        if not isinstance(self.sign_in, Unset):
            sign_in = self.sign_in.value

        account = self.account

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

        id = self.id

        external_id = self.external_id

        status = self.status

        meeting_url = self.meeting_url

        platform = self.platform

        attempts = self.attempts

        created_at = self.created_at

        started_at = self.started_at

        finalized_at = self.finalized_at

        manifest_uri = self.manifest_uri

        failure_code = self.failure_code

        failure_detail = self.failure_detail

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({})
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
        if sign_in is not UNSET:
            field_dict["signIn"] = sign_in
        if account is not UNSET:
            field_dict["account"] = account
        if streams is not UNSET:
            field_dict["streams"] = streams
        if output is not UNSET:
            field_dict["output"] = output
        if simulate is not UNSET:
            field_dict["simulate"] = simulate
        if id is not UNSET:
            field_dict["id"] = id
        if external_id is not UNSET:
            field_dict["externalId"] = external_id
        if status is not UNSET:
            field_dict["status"] = status
        if meeting_url is not UNSET:
            field_dict["meetingUrl"] = meeting_url
        if platform is not UNSET:
            field_dict["platform"] = platform
        if attempts is not UNSET:
            field_dict["attempts"] = attempts
        if created_at is not UNSET:
            field_dict["createdAt"] = created_at
        if started_at is not UNSET:
            field_dict["startedAt"] = started_at
        if finalized_at is not UNSET:
            field_dict["finalizedAt"] = finalized_at
        if manifest_uri is not UNSET:
            field_dict["manifestUri"] = manifest_uri
        if failure_code is not UNSET:
            field_dict["failureCode"] = failure_code
        if failure_detail is not UNSET:
            field_dict["failureDetail"] = failure_detail

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.auto_leave_patch import AutoLeavePatch
        from ..models.captions_options import CaptionsOptions
        from ..models.consent_options import ConsentOptions
        from ..models.job_patch_metadata import JobPatchMetadata
        from ..models.job_patch_webhooks import JobPatchWebhooks
        from ..models.output_options import OutputOptions
        from ..models.recording_options import RecordingOptions
        from ..models.simulation import Simulation
        from ..models.stream_options import StreamOptions
        from ..models.transcript_options import TranscriptOptions

        d = dict(src_dict)
        _join_at = d.pop("joinAt", UNSET)
        join_at: datetime.datetime | Unset
        if isinstance(_join_at, Unset):
            join_at = UNSET
        else:
            join_at = isoparse(_join_at)

        display_name = d.pop("displayName", UNSET)

        _webhooks = d.pop("webhooks", UNSET)
        webhooks: JobPatchWebhooks | Unset
        if isinstance(_webhooks, Unset):
            webhooks = UNSET
        else:
            webhooks = JobPatchWebhooks.from_dict(_webhooks)

        _metadata = d.pop("metadata", UNSET)
        metadata: JobPatchMetadata | Unset
        if isinstance(_metadata, Unset):
            metadata = UNSET
        else:
            metadata = JobPatchMetadata.from_dict(_metadata)

        _auto_leave = d.pop("autoLeave", UNSET)
        auto_leave: AutoLeavePatch | Unset
        if isinstance(_auto_leave, Unset):
            auto_leave = UNSET
        else:
            auto_leave = AutoLeavePatch.from_dict(_auto_leave)

        def _parse_title(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        title = _parse_title(d.pop("title", UNSET))

        def _parse_start_before(data: object) -> datetime.datetime | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                start_before_type_0 = isoparse(data)

                return start_before_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None | Unset, data)

        start_before = _parse_start_before(d.pop("startBefore", UNSET))

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

        _sign_in = d.pop("signIn", UNSET)
        sign_in: JobPatchSignIn | Unset
        if isinstance(_sign_in, Unset):
            sign_in = UNSET
        else:
            sign_in = JobPatchSignIn(_sign_in)

        account = d.pop("account", UNSET)

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

        id = d.pop("id", UNSET)

        external_id = d.pop("externalId", UNSET)

        status = d.pop("status", UNSET)

        meeting_url = d.pop("meetingUrl", UNSET)

        platform = d.pop("platform", UNSET)

        attempts = d.pop("attempts", UNSET)

        created_at = d.pop("createdAt", UNSET)

        started_at = d.pop("startedAt", UNSET)

        finalized_at = d.pop("finalizedAt", UNSET)

        manifest_uri = d.pop("manifestUri", UNSET)

        failure_code = d.pop("failureCode", UNSET)

        failure_detail = d.pop("failureDetail", UNSET)

        job_patch = cls(
            join_at=join_at,
            display_name=display_name,
            webhooks=webhooks,
            metadata=metadata,
            auto_leave=auto_leave,
            title=title,
            start_before=start_before,
            recording=recording,
            captions=captions,
            chat=chat,
            transcript=transcript,
            consent=consent,
            sign_in=sign_in,
            account=account,
            streams=streams,
            output=output,
            simulate=simulate,
            id=id,
            external_id=external_id,
            status=status,
            meeting_url=meeting_url,
            platform=platform,
            attempts=attempts,
            created_at=created_at,
            started_at=started_at,
            finalized_at=finalized_at,
            manifest_uri=manifest_uri,
            failure_code=failure_code,
            failure_detail=failure_detail,
        )

        job_patch.additional_properties = d
        return job_patch

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
