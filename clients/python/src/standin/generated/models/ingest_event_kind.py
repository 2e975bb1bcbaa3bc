from ..._enum import OpenEnum


class IngestEventKind(OpenEnum):
    LIFECYCLE_COMPETING_BOT_DETECTED = "lifecycle.competing_bot_detected"
    LIFECYCLE_ENTERING_LOBBY = "lifecycle.entering_lobby"
    LIFECYCLE_EXITED = "lifecycle.exited"
    LIFECYCLE_IN_MEETING = "lifecycle.in_meeting"
    LIFECYCLE_JOINED = "lifecycle.joined"
    LIFECYCLE_MEDIA_FAULT = "lifecycle.media_fault"
    LIFECYCLE_MEDIA_UPLOADING = "lifecycle.media_uploading"
    LIFECYCLE_OUTPUT_FAILED = "lifecycle.output_failed"
    LIFECYCLE_OUTPUT_FINISHED = "lifecycle.output_finished"
    LIFECYCLE_OUTPUT_STARTED = "lifecycle.output_started"
    LIFECYCLE_PERMISSION_REQUESTED = "lifecycle.permission_requested"
    LIFECYCLE_PERMISSION_RESPONSE = "lifecycle.permission_response"
    LIFECYCLE_POST_PROCESSING = "lifecycle.post_processing"
    LIFECYCLE_RECORDING_PAUSED = "lifecycle.recording_paused"
    LIFECYCLE_RECORDING_STARTED = "lifecycle.recording_started"
    LIFECYCLE_RECORDING_STOPPED = "lifecycle.recording_stopped"
    MANIFEST_FINALIZED = "manifest.finalized"
