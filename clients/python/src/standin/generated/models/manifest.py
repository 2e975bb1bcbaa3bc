from __future__ import annotations

from collections.abc import Mapping
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    TypeVar,
    cast,
)
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.manifest_speech_source import ManifestSpeechSource
from ..models.platform import Platform
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.consent_request import ConsentRequest
    from ..models.gap import Gap
    from ..models.manifest_bot import ManifestBot
    from ..models.manifest_end import ManifestEnd
    from ..models.manifest_metadata import ManifestMetadata
    from ..models.manifest_timeline import ManifestTimeline
    from ..models.media_fault import MediaFault
    from ..models.media_file import MediaFile
    from ..models.participant import Participant
    from ..models.speech import Speech
    from ..models.video_gap import VideoGap


T = TypeVar("T", bound="Manifest")


@_attrs_define
class Manifest:
    """The recording of a meeting, version 1. Offsets (startMs, endMs, startOffsetMs) are wall-clock milliseconds since
    timeline.recordingStartedAt and include gaps. When that time is null and there is no media, they are relative to
    timeline.admittedAt; with media, to the start of the stored recording. Media files do not contain gaps. To convert
    an offset to a position in a file of kind video or audio, subtract the lengths of all gaps that end at or before the
    offset. When there are several files of the same kind, also subtract the durations (durationMs) of the files before
    it.

        Attributes:
            schema_version (Literal[1]): The schema version.
            job_id (UUID): The ID of the job.
            external_id (str): The external ID from the request that created the job.
            platform (Platform): The meeting platform: `meet` is Google Meet, `teams` is Microsoft Teams, `zoom-web` is the
                Zoom
                web client, and `zoom-sdk` is Zoom's Realtime Media Streams. If the service receives no streams, `zoom-sdk`
                fails at
                dispatch.
            meeting_url (str): The meeting URL from the request that created the job.
            metadata (ManifestMetadata): The metadata of the job.
            bot (ManifestBot): The bot that recorded the meeting.
            timeline (ManifestTimeline): Times of the bot's stay in the meeting. A time is null if the event did not happen
                or its time is unknown. If there were several attempts, the timeline covers all of them, from the start of the
                first to the end of the last.
            end (ManifestEnd): Why the bot left or the meeting ended.
            partial (bool): Whether part of a started recording is missing because media or the bot was lost. A requested
                pause does not make a recording partial.
            gaps (list[Gap]): The intervals without recorded media, in order. Gaps shorter than 100 ms are omitted.
            media (list[MediaFile]): The files of the recording. Empty if nothing was recorded or nothing could be stored.
            participants (list[Participant]): The participants in the roster, in the order in which they joined. The bot is
                not included.
            speech (list[Speech]): When each participant spoke, ordered by startMs. Speech before the start of the recording
                is omitted. Empty if nobody spoke, or if speechSource is none.
            consent (list[ConsentRequest]): The requests for the host's permission to record, in order.
            revision (int | Unset): The number of this version of the manifest. Missing in the manifest as it was finalized.
                It is 2 or more after the service has attached files, such as the transcript. Nothing else changes.
            media_faults (list[MediaFault] | Unset): The intervals whose media is recorded but faulty, in order of their
                start. Missing in manifests of earlier versions.
            video_gaps (list[VideoGap] | Unset): The intervals of at least a second within files of `participant_video` and
                `screen_share` for which there is no video.
            speech_source (ManifestSpeechSource | Unset): How it is known who spoke. none: nothing is known, and speech is
                empty. page: the meeting page marks who speaks. audio: the level of audio that is known to be a participant's.
                page_and_audio: both; where they differ, the audio decides. Manifests of earlier versions do not have it.
    """

    schema_version: Literal[1]
    job_id: UUID
    external_id: str
    platform: Platform
    meeting_url: str
    metadata: ManifestMetadata
    bot: ManifestBot
    timeline: ManifestTimeline
    end: ManifestEnd
    partial: bool
    gaps: list[Gap]
    media: list[MediaFile]
    participants: list[Participant]
    speech: list[Speech]
    consent: list[ConsentRequest]
    revision: int | Unset = UNSET
    media_faults: list[MediaFault] | Unset = UNSET
    video_gaps: list[VideoGap] | Unset = UNSET
    speech_source: ManifestSpeechSource | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        schema_version = self.schema_version

        job_id = str(self.job_id)

        external_id = self.external_id

        platform = self.platform.value

        meeting_url = self.meeting_url

        metadata = self.metadata.to_dict()

        bot = self.bot.to_dict()

        timeline = self.timeline.to_dict()

        end = self.end.to_dict()

        partial = self.partial

        gaps = []
        for gaps_item_data in self.gaps:
            gaps_item = gaps_item_data.to_dict()
            gaps.append(gaps_item)

        media = []
        for media_item_data in self.media:
            media_item = media_item_data.to_dict()
            media.append(media_item)

        participants = []
        for participants_item_data in self.participants:
            participants_item = participants_item_data.to_dict()
            participants.append(participants_item)

        speech = []
        for speech_item_data in self.speech:
            speech_item = speech_item_data.to_dict()
            speech.append(speech_item)

        consent = []
        for consent_item_data in self.consent:
            consent_item = consent_item_data.to_dict()
            consent.append(consent_item)

        revision = self.revision

        media_faults: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.media_faults, Unset):
            media_faults = []
            for media_faults_item_data in self.media_faults:
                media_faults_item = media_faults_item_data.to_dict()
                media_faults.append(media_faults_item)

        video_gaps: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.video_gaps, Unset):
            video_gaps = []
            for video_gaps_item_data in self.video_gaps:
                video_gaps_item = video_gaps_item_data.to_dict()
                video_gaps.append(video_gaps_item)

        speech_source: str | Unset = UNSET
        if not isinstance(self.speech_source, Unset):
            speech_source = self.speech_source.value

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "schemaVersion": schema_version,
                "jobId": job_id,
                "externalId": external_id,
                "platform": platform,
                "meetingUrl": meeting_url,
                "metadata": metadata,
                "bot": bot,
                "timeline": timeline,
                "end": end,
                "partial": partial,
                "gaps": gaps,
                "media": media,
                "participants": participants,
                "speech": speech,
                "consent": consent,
            }
        )
        if revision is not UNSET:
            field_dict["revision"] = revision
        if media_faults is not UNSET:
            field_dict["mediaFaults"] = media_faults
        if video_gaps is not UNSET:
            field_dict["videoGaps"] = video_gaps
        if speech_source is not UNSET:
            field_dict["speechSource"] = speech_source

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.consent_request import ConsentRequest
        from ..models.gap import Gap
        from ..models.manifest_bot import ManifestBot
        from ..models.manifest_end import ManifestEnd
        from ..models.manifest_metadata import ManifestMetadata
        from ..models.manifest_timeline import ManifestTimeline
        from ..models.media_fault import MediaFault
        from ..models.media_file import MediaFile
        from ..models.participant import Participant
        from ..models.speech import Speech
        from ..models.video_gap import VideoGap

        d = dict(src_dict)
        schema_version = cast(Literal[1], d.pop("schemaVersion"))

        job_id = UUID(d.pop("jobId"))

        external_id = d.pop("externalId")

        platform = Platform(d.pop("platform"))

        meeting_url = d.pop("meetingUrl")

        metadata = ManifestMetadata.from_dict(d.pop("metadata"))

        bot = ManifestBot.from_dict(d.pop("bot"))

        timeline = ManifestTimeline.from_dict(d.pop("timeline"))

        end = ManifestEnd.from_dict(d.pop("end"))

        partial = d.pop("partial")

        gaps = []
        _gaps = d.pop("gaps")
        for gaps_item_data in _gaps:
            gaps_item = Gap.from_dict(gaps_item_data)

            gaps.append(gaps_item)

        media = []
        _media = d.pop("media")
        for media_item_data in _media:
            media_item = MediaFile.from_dict(media_item_data)

            media.append(media_item)

        participants = []
        _participants = d.pop("participants")
        for participants_item_data in _participants:
            participants_item = Participant.from_dict(participants_item_data)

            participants.append(participants_item)

        speech = []
        _speech = d.pop("speech")
        for speech_item_data in _speech:
            speech_item = Speech.from_dict(speech_item_data)

            speech.append(speech_item)

        consent = []
        _consent = d.pop("consent")
        for consent_item_data in _consent:
            consent_item = ConsentRequest.from_dict(consent_item_data)

            consent.append(consent_item)

        revision = d.pop("revision", UNSET)

        _media_faults = d.pop("mediaFaults", UNSET)
        media_faults: list[MediaFault] | Unset = UNSET
        if _media_faults is not UNSET:
            media_faults = []
            for media_faults_item_data in _media_faults:
                media_faults_item = MediaFault.from_dict(media_faults_item_data)

                media_faults.append(media_faults_item)

        _video_gaps = d.pop("videoGaps", UNSET)
        video_gaps: list[VideoGap] | Unset = UNSET
        if _video_gaps is not UNSET:
            video_gaps = []
            for video_gaps_item_data in _video_gaps:
                video_gaps_item = VideoGap.from_dict(video_gaps_item_data)

                video_gaps.append(video_gaps_item)

        _speech_source = d.pop("speechSource", UNSET)
        speech_source: ManifestSpeechSource | Unset
        if isinstance(_speech_source, Unset):
            speech_source = UNSET
        else:
            speech_source = ManifestSpeechSource(_speech_source)

        manifest = cls(
            schema_version=schema_version,
            job_id=job_id,
            external_id=external_id,
            platform=platform,
            meeting_url=meeting_url,
            metadata=metadata,
            bot=bot,
            timeline=timeline,
            end=end,
            partial=partial,
            gaps=gaps,
            media=media,
            participants=participants,
            speech=speech,
            consent=consent,
            revision=revision,
            media_faults=media_faults,
            video_gaps=video_gaps,
            speech_source=speech_source,
        )

        manifest.additional_properties = d
        return manifest

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
