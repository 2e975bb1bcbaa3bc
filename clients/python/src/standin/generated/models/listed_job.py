from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from dateutil.parser import isoparse

from ..models.failure_code import FailureCode
from ..models.job_status import JobStatus
from ..models.listed_job_sources_item import ListedJobSourcesItem
from ..models.platform import Platform
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.job_options import JobOptions
    from ..models.job_outcome import JobOutcome
    from ..models.job_participant import JobParticipant
    from ..models.job_recording import JobRecording
    from ..models.job_resources import JobResources
    from ..models.job_transcript import JobTranscript
    from ..models.job_webhooks import JobWebhooks
    from ..models.listed_job_auto_leave import ListedJobAutoLeave
    from ..models.listed_job_metadata import ListedJobMetadata


T = TypeVar("T", bound="ListedJob")


@_attrs_define
class ListedJob:
    """A job in a list. With `expand=details` it has all fields of `JobDetails`.

    Attributes:
        id (UUID): The ID of the job, assigned by the service.
        external_id (str): Your own ID for the job.
        status (JobStatus): The status of a job. `completed`, `failed` and `cancelled` are final.
        meeting_url (str): The URL of the meeting.
        platform (Platform): The meeting platform: `meet` is Google Meet, `teams` is Microsoft Teams, `zoom-web` is the
            Zoom
            web client, and `zoom-sdk` is Zoom's Realtime Media Streams. If the service receives no streams, `zoom-sdk`
            fails at
            dispatch.
        join_at (datetime.datetime): When the bot is scheduled to join.
        attempts (int): The number of times a bot was dispatched.
        created_at (datetime.datetime): When the job was created.
        started_at (datetime.datetime | None): When the bot reported for the first time, or null.
        finalized_at (datetime.datetime | None): When the manifest was stored, or null.
        manifest_uri (None | str): The URL of the manifest, or null until the job is finalized.
        failure_code (FailureCode | None): Why the job failed, or null if it did not fail.
        failure_detail (None | str): A human-readable explanation of the failure, or null if the job did not fail.
        metadata (ListedJobMetadata): The metadata from the request.
        auto_leave (ListedJobAutoLeave): The settings, including defaults.
        title (None | str | Unset): The title of the meeting: the option `title`, or `title` or `subject` in the
            metadata, or null.
        display_name (str | Unset): The name shown to other participants.
        webhooks (JobWebhooks | Unset): The URLs that receive the events of the job. If null, the default URL of the
            consumer receives them.
        options (JobOptions | Unset): The options of the job that its request or its metadata set.
        ended_at (datetime.datetime | None | Unset): When the job was completed, failed or cancelled, or null.
        duration_seconds (float | None | Unset): The length of the recording with its gaps, or of the stay of a bot that
            recorded nothing by choice, or null.
        participants (list[JobParticipant] | Unset): Who was in the meeting, or is there now; the first 100, without the
            bot. Empty once the recording is deleted.
        sources (list[ListedJobSourcesItem] | Unset): How the bot was asked for: by a request for a job (`api`), by an
            invitation by `mail` or by the API (`intake`), or by connected calendars
            (`feed`, `google`, `microsoft`).
        outcome (JobOutcome | Unset): The current state or the outcome of the job in human-readable words, which may
            change.
        recording (JobRecording | Unset): The links of a recording. Requests need an API key of the consumer.
        transcript (JobTranscript | Unset): The link of a transcript. Requests need an API key of the consumer.
        resources (JobResources | Unset): What the bots of a job used of machines, as they reported it until its end.
            Only jobs that have ended have it, if their bots could measure it.
    """

    id: UUID
    external_id: str
    status: JobStatus
    meeting_url: str
    platform: Platform
    join_at: datetime.datetime
    attempts: int
    created_at: datetime.datetime
    started_at: datetime.datetime | None
    finalized_at: datetime.datetime | None
    manifest_uri: None | str
    failure_code: FailureCode | None
    failure_detail: None | str
    metadata: ListedJobMetadata
    auto_leave: ListedJobAutoLeave
    title: None | str | Unset = UNSET
    display_name: str | Unset = UNSET
    webhooks: JobWebhooks | Unset = UNSET
    options: JobOptions | Unset = UNSET
    ended_at: datetime.datetime | None | Unset = UNSET
    duration_seconds: float | None | Unset = UNSET
    participants: list[JobParticipant] | Unset = UNSET
    sources: list[ListedJobSourcesItem] | Unset = UNSET
    outcome: JobOutcome | Unset = UNSET
    recording: JobRecording | Unset = UNSET
    transcript: JobTranscript | Unset = UNSET
    resources: JobResources | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = str(self.id)

        external_id = self.external_id

        status = self.status.value

        meeting_url = self.meeting_url

        platform = self.platform.value

        join_at = self.join_at.isoformat()

        attempts = self.attempts

        created_at = self.created_at.isoformat()

        started_at: None | str
        if isinstance(self.started_at, datetime.datetime):
            started_at = self.started_at.isoformat()
        else:
            started_at = self.started_at

        finalized_at: None | str
        if isinstance(self.finalized_at, datetime.datetime):
            finalized_at = self.finalized_at.isoformat()
        else:
            finalized_at = self.finalized_at

        manifest_uri: None | str
        manifest_uri = self.manifest_uri

        failure_code: None | str
        if isinstance(self.failure_code, FailureCode):
            failure_code = self.failure_code.value
        else:
            failure_code = self.failure_code

        failure_detail: None | str
        failure_detail = self.failure_detail

        metadata = self.metadata.to_dict()

        auto_leave = self.auto_leave.to_dict()

        title: None | str | Unset
        if isinstance(self.title, Unset):
            title = UNSET
        else:
            title = self.title

        display_name = self.display_name

        webhooks: dict[str, Any] | Unset = UNSET
        if not isinstance(self.webhooks, Unset):
            webhooks = self.webhooks.to_dict()

        options: dict[str, Any] | Unset = UNSET
        if not isinstance(self.options, Unset):
            options = self.options.to_dict()

        ended_at: None | str | Unset
        if isinstance(self.ended_at, Unset):
            ended_at = UNSET
        elif isinstance(self.ended_at, datetime.datetime):
            ended_at = self.ended_at.isoformat()
        else:
            ended_at = self.ended_at

        duration_seconds: float | None | Unset
        if isinstance(self.duration_seconds, Unset):
            duration_seconds = UNSET
        else:
            duration_seconds = self.duration_seconds

        participants: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.participants, Unset):
            participants = []
            for participants_item_data in self.participants:
                participants_item = participants_item_data.to_dict()
                participants.append(participants_item)

        sources: list[str] | Unset = UNSET
        if not isinstance(self.sources, Unset):
            sources = []
            for sources_item_data in self.sources:
                sources_item = sources_item_data.value
                sources.append(sources_item)

        outcome: dict[str, Any] | Unset = UNSET
        if not isinstance(self.outcome, Unset):
            outcome = self.outcome.to_dict()

        recording: dict[str, Any] | Unset = UNSET
        if not isinstance(self.recording, Unset):
            recording = self.recording.to_dict()

        transcript: dict[str, Any] | Unset = UNSET
        if not isinstance(self.transcript, Unset):
            transcript = self.transcript.to_dict()

        resources: dict[str, Any] | Unset = UNSET
        if not isinstance(self.resources, Unset):
            resources = self.resources.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "externalId": external_id,
                "status": status,
                "meetingUrl": meeting_url,
                "platform": platform,
                "joinAt": join_at,
                "attempts": attempts,
                "createdAt": created_at,
                "startedAt": started_at,
                "finalizedAt": finalized_at,
                "manifestUri": manifest_uri,
                "failureCode": failure_code,
                "failureDetail": failure_detail,
                "metadata": metadata,
                "autoLeave": auto_leave,
            }
        )
        if title is not UNSET:
            field_dict["title"] = title
        if display_name is not UNSET:
            field_dict["displayName"] = display_name
        if webhooks is not UNSET:
            field_dict["webhooks"] = webhooks
        if options is not UNSET:
            field_dict["options"] = options
        if ended_at is not UNSET:
            field_dict["endedAt"] = ended_at
        if duration_seconds is not UNSET:
            field_dict["durationSeconds"] = duration_seconds
        if participants is not UNSET:
            field_dict["participants"] = participants
        if sources is not UNSET:
            field_dict["sources"] = sources
        if outcome is not UNSET:
            field_dict["outcome"] = outcome
        if recording is not UNSET:
            field_dict["recording"] = recording
        if transcript is not UNSET:
            field_dict["transcript"] = transcript
        if resources is not UNSET:
            field_dict["resources"] = resources

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.job_options import JobOptions
        from ..models.job_outcome import JobOutcome
        from ..models.job_participant import JobParticipant
        from ..models.job_recording import JobRecording
        from ..models.job_resources import JobResources
        from ..models.job_transcript import JobTranscript
        from ..models.job_webhooks import JobWebhooks
        from ..models.listed_job_auto_leave import ListedJobAutoLeave
        from ..models.listed_job_metadata import ListedJobMetadata

        d = dict(src_dict)
        id = UUID(d.pop("id"))

        external_id = d.pop("externalId")

        status = JobStatus(d.pop("status"))

        meeting_url = d.pop("meetingUrl")

        platform = Platform(d.pop("platform"))

        join_at = isoparse(d.pop("joinAt"))

        attempts = d.pop("attempts")

        created_at = isoparse(d.pop("createdAt"))

        def _parse_started_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                started_at_type_0 = isoparse(data)

                return started_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        started_at = _parse_started_at(d.pop("startedAt"))

        def _parse_finalized_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                finalized_at_type_0 = isoparse(data)

                return finalized_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        finalized_at = _parse_finalized_at(d.pop("finalizedAt"))

        def _parse_manifest_uri(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        manifest_uri = _parse_manifest_uri(d.pop("manifestUri"))

        def _parse_failure_code(data: object) -> FailureCode | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                failure_code_type_0 = FailureCode(data)

                return failure_code_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(FailureCode | None, data)

        failure_code = _parse_failure_code(d.pop("failureCode"))

        def _parse_failure_detail(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        failure_detail = _parse_failure_detail(d.pop("failureDetail"))

        metadata = ListedJobMetadata.from_dict(d.pop("metadata"))

        auto_leave = ListedJobAutoLeave.from_dict(d.pop("autoLeave"))

        def _parse_title(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        title = _parse_title(d.pop("title", UNSET))

        display_name = d.pop("displayName", UNSET)

        _webhooks = d.pop("webhooks", UNSET)
        webhooks: JobWebhooks | Unset
        if isinstance(_webhooks, Unset):
            webhooks = UNSET
        else:
            webhooks = JobWebhooks.from_dict(_webhooks)

        _options = d.pop("options", UNSET)
        options: JobOptions | Unset
        if isinstance(_options, Unset):
            options = UNSET
        else:
            options = JobOptions.from_dict(_options)

        def _parse_ended_at(data: object) -> datetime.datetime | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                ended_at_type_0 = isoparse(data)

                return ended_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None | Unset, data)

        ended_at = _parse_ended_at(d.pop("endedAt", UNSET))

        def _parse_duration_seconds(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        duration_seconds = _parse_duration_seconds(d.pop("durationSeconds", UNSET))

        _participants = d.pop("participants", UNSET)
        participants: list[JobParticipant] | Unset = UNSET
        if _participants is not UNSET:
            participants = []
            for participants_item_data in _participants:
                participants_item = JobParticipant.from_dict(participants_item_data)

                participants.append(participants_item)

        _sources = d.pop("sources", UNSET)
        sources: list[ListedJobSourcesItem] | Unset = UNSET
        if _sources is not UNSET:
            sources = []
            for sources_item_data in _sources:
                sources_item = ListedJobSourcesItem(sources_item_data)

                sources.append(sources_item)

        _outcome = d.pop("outcome", UNSET)
        outcome: JobOutcome | Unset
        if isinstance(_outcome, Unset):
            outcome = UNSET
        else:
            outcome = JobOutcome.from_dict(_outcome)

        _recording = d.pop("recording", UNSET)
        recording: JobRecording | Unset
        if isinstance(_recording, Unset):
            recording = UNSET
        else:
            recording = JobRecording.from_dict(_recording)

        _transcript = d.pop("transcript", UNSET)
        transcript: JobTranscript | Unset
        if isinstance(_transcript, Unset):
            transcript = UNSET
        else:
            transcript = JobTranscript.from_dict(_transcript)

        _resources = d.pop("resources", UNSET)
        resources: JobResources | Unset
        if isinstance(_resources, Unset):
            resources = UNSET
        else:
            resources = JobResources.from_dict(_resources)

        listed_job = cls(
            id=id,
            external_id=external_id,
            status=status,
            meeting_url=meeting_url,
            platform=platform,
            join_at=join_at,
            attempts=attempts,
            created_at=created_at,
            started_at=started_at,
            finalized_at=finalized_at,
            manifest_uri=manifest_uri,
            failure_code=failure_code,
            failure_detail=failure_detail,
            metadata=metadata,
            auto_leave=auto_leave,
            title=title,
            display_name=display_name,
            webhooks=webhooks,
            options=options,
            ended_at=ended_at,
            duration_seconds=duration_seconds,
            participants=participants,
            sources=sources,
            outcome=outcome,
            recording=recording,
            transcript=transcript,
            resources=resources,
        )

        listed_job.additional_properties = d
        return listed_job

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
