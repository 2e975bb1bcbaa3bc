"""Contains all the data models used in inputs/outputs"""

from .account import Account
from .account_condition import AccountCondition
from .account_create import AccountCreate
from .account_create_platform import AccountCreatePlatform
from .account_owner import AccountOwner
from .account_page import AccountPage
from .account_patch import AccountPatch
from .account_platform import AccountPlatform
from .account_request import AccountRequest
from .account_response import AccountResponse
from .account_state import AccountState
from .account_uses_item import AccountUsesItem
from .audit_entry import AuditEntry
from .audit_log_page import AuditLogPage
from .auto_leave_config import AutoLeaveConfig
from .auto_leave_patch import AutoLeavePatch
from .bot_identity import BotIdentity
from .bot_output import BotOutput
from .bot_output_data import BotOutputData
from .bot_output_data_state import BotOutputDataState
from .bot_output_version import BotOutputVersion
from .calendar import Calendar
from .calendar_create import CalendarCreate
from .calendar_create_provider import CalendarCreateProvider
from .calendar_event import CalendarEvent
from .calendar_event_changed import CalendarEventChanged
from .calendar_event_changed_data import CalendarEventChangedData
from .calendar_event_changed_data_event import CalendarEventChangedDataEvent
from .calendar_event_changed_event import CalendarEventChangedEvent
from .calendar_event_changed_version import CalendarEventChangedVersion
from .calendar_event_page import CalendarEventPage
from .calendar_event_patch import CalendarEventPatch
from .calendar_event_sources_item import CalendarEventSourcesItem
from .calendar_invite import CalendarInvite
from .calendar_invite_platform import CalendarInvitePlatform
from .calendar_job import CalendarJob
from .calendar_page import CalendarPage
from .calendar_patch import CalendarPatch
from .calendar_provider import CalendarProvider
from .calendar_rules import CalendarRules
from .calendar_rules_record_type_0_item import CalendarRulesRecordType0Item
from .calendar_state import CalendarState
from .calendar_state_changed import CalendarStateChanged
from .calendar_state_changed_data import CalendarStateChangedData
from .calendar_state_changed_version import CalendarStateChangedVersion
from .calendar_sync import CalendarSync
from .camera_options import CameraOptions
from .camera_picture import CameraPicture
from .captions_options import CaptionsOptions
from .chat_message import ChatMessage
from .chat_message_written import ChatMessageWritten
from .chat_message_written_data import ChatMessageWrittenData
from .chat_message_written_data_metadata import ChatMessageWrittenDataMetadata
from .chat_message_written_version import ChatMessageWrittenVersion
from .command_kind import CommandKind
from .command_outcome import CommandOutcome
from .command_outcome_data import CommandOutcomeData
from .command_outcome_data_outcome import CommandOutcomeDataOutcome
from .command_outcome_version import CommandOutcomeVersion
from .command_queued_response import CommandQueuedResponse
from .commands_item import CommandsItem
from .commands_item_args import CommandsItemArgs
from .competing_bot_detected import CompetingBotDetected
from .competing_bot_detected_data import CompetingBotDetectedData
from .competing_bot_detected_version import CompetingBotDetectedVersion
from .consent_options import ConsentOptions
from .consent_request import ConsentRequest
from .consent_request_outcome_type_1 import ConsentRequestOutcomeType1
from .consent_request_outcome_type_2_type_1 import ConsentRequestOutcomeType2Type1
from .consent_request_outcome_type_3_type_1 import ConsentRequestOutcomeType3Type1
from .created_key import CreatedKey
from .created_key_mode import CreatedKeyMode
from .delivery import Delivery
from .delivery_details import DeliveryDetails
from .delivery_details_headers_item import DeliveryDetailsHeadersItem
from .delivery_details_state import DeliveryDetailsState
from .delivery_details_version import DeliveryDetailsVersion
from .delivery_page import DeliveryPage
from .delivery_state import DeliveryState
from .delivery_try import DeliveryTry
from .delivery_version import DeliveryVersion
from .describe_manifest_response_200 import DescribeManifestResponse200
from .describe_response_200 import DescribeResponse200
from .device_flow import DeviceFlow
from .device_flow_key import DeviceFlowKey
from .device_flow_response import DeviceFlowResponse
from .device_flow_response_status import DeviceFlowResponseStatus
from .direct_upload import DirectUpload
from .done import Done
from .error import Error
from .expired_device_flow import ExpiredDeviceFlow
from .failed_deliveries import FailedDeliveries
from .failure_code import FailureCode
from .gap import Gap
from .get_media_response_202 import GetMediaResponse202
from .get_transcript_format import GetTranscriptFormat
from .get_usage_format import GetUsageFormat
from .heartbeat import Heartbeat
from .heartbeat_failed import HeartbeatFailed
from .heartbeat_result import HeartbeatResult
from .heartbeat_stats import HeartbeatStats
from .heartbeat_stats_roster import HeartbeatStatsRoster
from .heartbeat_stats_roster_participants_item import (
    HeartbeatStatsRosterParticipantsItem,
)
from .host_metrics import HostMetrics
from .host_metrics_bots import HostMetricsBots
from .host_metrics_cpu_type_0 import HostMetricsCpuType0
from .host_metrics_disk_type_0 import HostMetricsDiskType0
from .host_metrics_load_type_0 import HostMetricsLoadType0
from .host_metrics_ram_type_0 import HostMetricsRamType0
from .identity_provider import IdentityProvider
from .ingest_event import IngestEvent
from .ingest_event_data import IngestEventData
from .ingest_event_kind import IngestEventKind
from .ingest_result import IngestResult
from .ingest_result_reason import IngestResultReason
from .ingest_text import IngestText
from .ingest_text_kind import IngestTextKind
from .ingest_texts import IngestTexts
from .ingest_texts_result import IngestTextsResult
from .ingest_texts_result_reason import IngestTextsResultReason
from .intake_result import IntakeResult
from .intake_result_kind import IntakeResultKind
from .issue import Issue
from .job import Job
from .job_auto_leave import JobAutoLeave
from .job_batch import JobBatch
from .job_batch_item import JobBatchItem
from .job_batch_result import JobBatchResult
from .job_create import JobCreate
from .job_create_metadata import JobCreateMetadata
from .job_create_sign_in import JobCreateSignIn
from .job_details import JobDetails
from .job_details_auto_leave import JobDetailsAutoLeave
from .job_details_metadata import JobDetailsMetadata
from .job_details_sources_item import JobDetailsSourcesItem
from .job_failed import JobFailed
from .job_failed_data import JobFailedData
from .job_failed_version import JobFailedVersion
from .job_finalized import JobFinalized
from .job_finalized_data import JobFinalizedData
from .job_finalized_version import JobFinalizedVersion
from .job_metadata import JobMetadata
from .job_options import JobOptions
from .job_options_sign_in import JobOptionsSignIn
from .job_outcome import JobOutcome
from .job_page import JobPage
from .job_participant import JobParticipant
from .job_patch import JobPatch
from .job_patch_metadata import JobPatchMetadata
from .job_patch_sign_in import JobPatchSignIn
from .job_patch_webhooks import JobPatchWebhooks
from .job_recording import JobRecording
from .job_resources import JobResources
from .job_settings import JobSettings
from .job_settings_sign_in import JobSettingsSignIn
from .job_status import JobStatus
from .job_status_changed import JobStatusChanged
from .job_status_changed_data import JobStatusChangedData
from .job_status_changed_version import JobStatusChangedVersion
from .job_transcript import JobTranscript
from .job_transcript_ready import JobTranscriptReady
from .job_transcript_ready_data import JobTranscriptReadyData
from .job_transcript_ready_version import JobTranscriptReadyVersion
from .job_video_ready import JobVideoReady
from .job_video_ready_data import JobVideoReadyData
from .job_video_ready_version import JobVideoReadyVersion
from .job_webhooks import JobWebhooks
from .key import Key
from .key_create import KeyCreate
from .key_create_mode import KeyCreateMode
from .key_mode import KeyMode
from .key_page import KeyPage
from .key_scope import KeyScope
from .list_jobs_expand_item import ListJobsExpandItem
from .list_team_deliveries_state import ListTeamDeliveriesState
from .listed_job import ListedJob
from .listed_job_auto_leave import ListedJobAutoLeave
from .listed_job_metadata import ListedJobMetadata
from .listed_job_sources_item import ListedJobSourcesItem
from .listen_to_job_audio import ListenToJobAudio
from .listen_to_job_sample_rate import ListenToJobSampleRate
from .live_command import LiveCommand
from .live_command_outcome import LiveCommandOutcome
from .live_command_type import LiveCommandType
from .live_end import LiveEnd
from .live_end_type import LiveEndType
from .live_event import LiveEvent
from .live_event_event import LiveEventEvent
from .live_job_follow import LiveJobFollow
from .live_output import LiveOutput
from .live_output_state import LiveOutputState
from .live_output_type import LiveOutputType
from .live_participant import LiveParticipant
from .live_participants import LiveParticipants
from .live_participants_type import LiveParticipantsType
from .live_speaking import LiveSpeaking
from .live_speaking_type import LiveSpeakingType
from .live_state import LiveState
from .live_state_type import LiveStateType
from .live_stream import LiveStream
from .live_stream_state import LiveStreamState
from .live_stream_type import LiveStreamType
from .live_text import LiveText
from .live_text_type import LiveTextType
from .live_transcript import LiveTranscript
from .live_transcript_type import LiveTranscriptType
from .live_transcript_words_item import LiveTranscriptWordsItem
from .manifest import Manifest
from .manifest_bot import ManifestBot
from .manifest_end import ManifestEnd
from .manifest_metadata import ManifestMetadata
from .manifest_speech_source import ManifestSpeechSource
from .manifest_timeline import ManifestTimeline
from .me import Me
from .me_consumer import MeConsumer
from .me_key import MeKey
from .me_key_mode import MeKeyMode
from .me_service import MeService
from .media_fault import MediaFault
from .media_file import MediaFile
from .media_file_kind import MediaFileKind
from .meeting_text import MeetingText
from .output_failure import OutputFailure
from .output_file import OutputFile
from .output_on_join import OutputOnJoin
from .output_options import OutputOptions
from .output_page import OutputPage
from .participant import Participant
from .participant_changed import ParticipantChanged
from .participant_changed_data import ParticipantChangedData
from .participant_changed_data_event import ParticipantChangedDataEvent
from .participant_changed_data_metadata import ParticipantChangedDataMetadata
from .participant_changed_event import ParticipantChangedEvent
from .participant_changed_version import ParticipantChangedVersion
from .participant_speaking import ParticipantSpeaking
from .participant_speaking_data import ParticipantSpeakingData
from .participant_speaking_data_metadata import ParticipantSpeakingDataMetadata
from .participant_speaking_version import ParticipantSpeakingVersion
from .payment_event import PaymentEvent
from .payment_response import PaymentResponse
from .pinned_participant import PinnedParticipant
from .platform import Platform
from .play_audio import PlayAudio
from .readiness import Readiness
from .readiness_checks_item import ReadinessChecksItem
from .readiness_exclude_item import ReadinessExcludeItem
from .recording_options import RecordingOptions
from .recording_options_capture import RecordingOptionsCapture
from .recording_options_layout import RecordingOptionsLayout
from .recording_options_mode import RecordingOptionsMode
from .recording_options_resolution import RecordingOptionsResolution
from .recording_permission_response import RecordingPermissionResponse
from .recording_permission_response_data import RecordingPermissionResponseData
from .recording_permission_response_version import RecordingPermissionResponseVersion
from .redelivery_response import RedeliveryResponse
from .shared_picture import SharedPicture
from .signed_upload import SignedUpload
from .signed_upload_headers import SignedUploadHeaders
from .simulation import Simulation
from .simulation_outcome import SimulationOutcome
from .simulation_permission import SimulationPermission
from .speak_text import SpeakText
from .speech import Speech
from .stream_changed import StreamChanged
from .stream_changed_data import StreamChangedData
from .stream_changed_data_state import StreamChangedDataState
from .stream_changed_version import StreamChangedVersion
from .stream_options import StreamOptions
from .stream_options_audio import StreamOptionsAudio
from .stream_options_events_item import StreamOptionsEventsItem
from .stream_options_format import StreamOptionsFormat
from .stream_options_sample_rate import StreamOptionsSampleRate
from .text_file import TextFile
from .text_file_kind import TextFileKind
from .text_match import TextMatch
from .text_match_kind import TextMatchKind
from .text_matches import TextMatches
from .timeline_entry import TimelineEntry
from .timeline_entry_data import TimelineEntryData
from .timeline_entry_reason_type_1 import TimelineEntryReasonType1
from .timeline_entry_reason_type_2_type_1 import TimelineEntryReasonType2Type1
from .timeline_entry_reason_type_3_type_1 import TimelineEntryReasonType3Type1
from .timeline_entry_source import TimelineEntrySource
from .timeline_page import TimelinePage
from .transcript import Transcript
from .transcript_data import TranscriptData
from .transcript_data_data import TranscriptDataData
from .transcript_data_data_metadata import TranscriptDataDataMetadata
from .transcript_data_version import TranscriptDataVersion
from .transcript_options import TranscriptOptions
from .transcript_segment import TranscriptSegment
from .transcript_segment_source import TranscriptSegmentSource
from .transcript_segment_words_item import TranscriptSegmentWordsItem
from .transcription_queued import TranscriptionQueued
from .transcription_request import TranscriptionRequest
from .upload_response import UploadResponse
from .usage import Usage
from .usage_day import UsageDay
from .usage_report import UsageReport
from .video_gap import VideoGap
from .webhook_calendar import WebhookCalendar
from .webhook_chat_message import WebhookChatMessage
from .webhook_endpoint import WebhookEndpoint
from .webhook_endpoint_create import WebhookEndpointCreate
from .webhook_endpoint_page import WebhookEndpointPage
from .webhook_endpoint_patch import WebhookEndpointPatch
from .webhook_endpoint_state import WebhookEndpointState
from .webhook_meeting import WebhookMeeting
from .webhook_participant import WebhookParticipant
from .webhook_secret import WebhookSecret
from .webhook_segment import WebhookSegment
from .webhook_test import WebhookTest
from .webhook_test_result import WebhookTestResult
from .webhook_word import WebhookWord
from .webhooks import Webhooks
from .zoom_answer import ZoomAnswer
from .zoom_app import ZoomApp
from .zoom_app_create import ZoomAppCreate
from .zoom_app_page import ZoomAppPage
from .zoom_event import ZoomEvent
from .zoom_event_payload import ZoomEventPayload

__all__ = (
    "Account",
    "AccountCondition",
    "AccountCreate",
    "AccountCreatePlatform",
    "AccountOwner",
    "AccountPage",
    "AccountPatch",
    "AccountPlatform",
    "AccountRequest",
    "AccountResponse",
    "AccountState",
    "AccountUsesItem",
    "AuditEntry",
    "AuditLogPage",
    "AutoLeaveConfig",
    "AutoLeavePatch",
    "BotIdentity",
    "BotOutput",
    "BotOutputData",
    "BotOutputDataState",
    "BotOutputVersion",
    "Calendar",
    "CalendarCreate",
    "CalendarCreateProvider",
    "CalendarEvent",
    "CalendarEventChanged",
    "CalendarEventChangedData",
    "CalendarEventChangedDataEvent",
    "CalendarEventChangedEvent",
    "CalendarEventChangedVersion",
    "CalendarEventPage",
    "CalendarEventPatch",
    "CalendarEventSourcesItem",
    "CalendarInvite",
    "CalendarInvitePlatform",
    "CalendarJob",
    "CalendarPage",
    "CalendarPatch",
    "CalendarProvider",
    "CalendarRules",
    "CalendarRulesRecordType0Item",
    "CalendarState",
    "CalendarStateChanged",
    "CalendarStateChangedData",
    "CalendarStateChangedVersion",
    "CalendarSync",
    "CameraOptions",
    "CameraPicture",
    "CaptionsOptions",
    "ChatMessage",
    "ChatMessageWritten",
    "ChatMessageWrittenData",
    "ChatMessageWrittenDataMetadata",
    "ChatMessageWrittenVersion",
    "CommandKind",
    "CommandOutcome",
    "CommandOutcomeData",
    "CommandOutcomeDataOutcome",
    "CommandOutcomeVersion",
    "CommandQueuedResponse",
    "CommandsItem",
    "CommandsItemArgs",
    "CompetingBotDetected",
    "CompetingBotDetectedData",
    "CompetingBotDetectedVersion",
    "ConsentOptions",
    "ConsentRequest",
    "ConsentRequestOutcomeType1",
    "ConsentRequestOutcomeType2Type1",
    "ConsentRequestOutcomeType3Type1",
    "CreatedKey",
    "CreatedKeyMode",
    "Delivery",
    "DeliveryDetails",
    "DeliveryDetailsHeadersItem",
    "DeliveryDetailsState",
    "DeliveryDetailsVersion",
    "DeliveryPage",
    "DeliveryState",
    "DeliveryTry",
    "DeliveryVersion",
    "DescribeManifestResponse200",
    "DescribeResponse200",
    "DeviceFlow",
    "DeviceFlowKey",
    "DeviceFlowResponse",
    "DeviceFlowResponseStatus",
    "DirectUpload",
    "Done",
    "Error",
    "ExpiredDeviceFlow",
    "FailedDeliveries",
    "FailureCode",
    "Gap",
    "GetMediaResponse202",
    "GetTranscriptFormat",
    "GetUsageFormat",
    "Heartbeat",
    "HeartbeatFailed",
    "HeartbeatResult",
    "HeartbeatStats",
    "HeartbeatStatsRoster",
    "HeartbeatStatsRosterParticipantsItem",
    "HostMetrics",
    "HostMetricsBots",
    "HostMetricsCpuType0",
    "HostMetricsDiskType0",
    "HostMetricsLoadType0",
    "HostMetricsRamType0",
    "IdentityProvider",
    "IngestEvent",
    "IngestEventData",
    "IngestEventKind",
    "IngestResult",
    "IngestResultReason",
    "IngestText",
    "IngestTextKind",
    "IngestTexts",
    "IngestTextsResult",
    "IngestTextsResultReason",
    "IntakeResult",
    "IntakeResultKind",
    "Issue",
    "Job",
    "JobAutoLeave",
    "JobBatch",
    "JobBatchItem",
    "JobBatchResult",
    "JobCreate",
    "JobCreateMetadata",
    "JobCreateSignIn",
    "JobDetails",
    "JobDetailsAutoLeave",
    "JobDetailsMetadata",
    "JobDetailsSourcesItem",
    "JobFailed",
    "JobFailedData",
    "JobFailedVersion",
    "JobFinalized",
    "JobFinalizedData",
    "JobFinalizedVersion",
    "JobMetadata",
    "JobOptions",
    "JobOptionsSignIn",
    "JobOutcome",
    "JobPage",
    "JobParticipant",
    "JobPatch",
    "JobPatchMetadata",
    "JobPatchSignIn",
    "JobPatchWebhooks",
    "JobRecording",
    "JobResources",
    "JobSettings",
    "JobSettingsSignIn",
    "JobStatus",
    "JobStatusChanged",
    "JobStatusChangedData",
    "JobStatusChangedVersion",
    "JobTranscript",
    "JobTranscriptReady",
    "JobTranscriptReadyData",
    "JobTranscriptReadyVersion",
    "JobVideoReady",
    "JobVideoReadyData",
    "JobVideoReadyVersion",
    "JobWebhooks",
    "Key",
    "KeyCreate",
    "KeyCreateMode",
    "KeyMode",
    "KeyPage",
    "KeyScope",
    "ListedJob",
    "ListedJobAutoLeave",
    "ListedJobMetadata",
    "ListedJobSourcesItem",
    "ListenToJobAudio",
    "ListenToJobSampleRate",
    "ListJobsExpandItem",
    "ListTeamDeliveriesState",
    "LiveCommand",
    "LiveCommandOutcome",
    "LiveCommandType",
    "LiveEnd",
    "LiveEndType",
    "LiveEvent",
    "LiveEventEvent",
    "LiveJobFollow",
    "LiveOutput",
    "LiveOutputState",
    "LiveOutputType",
    "LiveParticipant",
    "LiveParticipants",
    "LiveParticipantsType",
    "LiveSpeaking",
    "LiveSpeakingType",
    "LiveState",
    "LiveStateType",
    "LiveStream",
    "LiveStreamState",
    "LiveStreamType",
    "LiveText",
    "LiveTextType",
    "LiveTranscript",
    "LiveTranscriptType",
    "LiveTranscriptWordsItem",
    "Manifest",
    "ManifestBot",
    "ManifestEnd",
    "ManifestMetadata",
    "ManifestSpeechSource",
    "ManifestTimeline",
    "Me",
    "MeConsumer",
    "MediaFault",
    "MediaFile",
    "MediaFileKind",
    "MeetingText",
    "MeKey",
    "MeKeyMode",
    "MeService",
    "OutputFailure",
    "OutputFile",
    "OutputOnJoin",
    "OutputOptions",
    "OutputPage",
    "Participant",
    "ParticipantChanged",
    "ParticipantChangedData",
    "ParticipantChangedDataEvent",
    "ParticipantChangedDataMetadata",
    "ParticipantChangedEvent",
    "ParticipantChangedVersion",
    "ParticipantSpeaking",
    "ParticipantSpeakingData",
    "ParticipantSpeakingDataMetadata",
    "ParticipantSpeakingVersion",
    "PaymentEvent",
    "PaymentResponse",
    "PinnedParticipant",
    "Platform",
    "PlayAudio",
    "Readiness",
    "ReadinessChecksItem",
    "ReadinessExcludeItem",
    "RecordingOptions",
    "RecordingOptionsCapture",
    "RecordingOptionsLayout",
    "RecordingOptionsMode",
    "RecordingOptionsResolution",
    "RecordingPermissionResponse",
    "RecordingPermissionResponseData",
    "RecordingPermissionResponseVersion",
    "RedeliveryResponse",
    "SharedPicture",
    "SignedUpload",
    "SignedUploadHeaders",
    "Simulation",
    "SimulationOutcome",
    "SimulationPermission",
    "SpeakText",
    "Speech",
    "StreamChanged",
    "StreamChangedData",
    "StreamChangedDataState",
    "StreamChangedVersion",
    "StreamOptions",
    "StreamOptionsAudio",
    "StreamOptionsEventsItem",
    "StreamOptionsFormat",
    "StreamOptionsSampleRate",
    "TextFile",
    "TextFileKind",
    "TextMatch",
    "TextMatches",
    "TextMatchKind",
    "TimelineEntry",
    "TimelineEntryData",
    "TimelineEntryReasonType1",
    "TimelineEntryReasonType2Type1",
    "TimelineEntryReasonType3Type1",
    "TimelineEntrySource",
    "TimelinePage",
    "Transcript",
    "TranscriptData",
    "TranscriptDataData",
    "TranscriptDataDataMetadata",
    "TranscriptDataVersion",
    "TranscriptionQueued",
    "TranscriptionRequest",
    "TranscriptOptions",
    "TranscriptSegment",
    "TranscriptSegmentSource",
    "TranscriptSegmentWordsItem",
    "UploadResponse",
    "Usage",
    "UsageDay",
    "UsageReport",
    "VideoGap",
    "WebhookCalendar",
    "WebhookChatMessage",
    "WebhookEndpoint",
    "WebhookEndpointCreate",
    "WebhookEndpointPage",
    "WebhookEndpointPatch",
    "WebhookEndpointState",
    "WebhookMeeting",
    "WebhookParticipant",
    "Webhooks",
    "WebhookSecret",
    "WebhookSegment",
    "WebhookTest",
    "WebhookTestResult",
    "WebhookWord",
    "ZoomAnswer",
    "ZoomApp",
    "ZoomAppCreate",
    "ZoomAppPage",
    "ZoomEvent",
    "ZoomEventPayload",
)
