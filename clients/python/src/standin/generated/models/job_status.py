from ..._enum import OpenEnum


class JobStatus(OpenEnum):
    CANCELLED = "cancelled"
    COMPLETED = "completed"
    DISPATCHING = "dispatching"
    ENTERING_LOBBY = "entering_lobby"
    FAILED = "failed"
    FINALIZING = "finalizing"
    IN_MEETING = "in_meeting"
    JOINING = "joining"
    MEDIA_UPLOADING = "media_uploading"
    PENDING = "pending"
    PERMISSION_REQUESTED = "permission_requested"
    POST_PROCESSING = "post_processing"
    RECORDING_PAUSED = "recording_paused"
    RECORDING_STARTED = "recording_started"
    RECORDING_STOPPED = "recording_stopped"
    SCHEDULED = "scheduled"
