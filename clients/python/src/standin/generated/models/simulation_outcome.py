from enum import Enum


class SimulationOutcome(str, Enum):
    AUTH_FAILURE = "auth_failure"
    COMPETING_BOT = "competing_bot"
    DISORDERED_EVENTS = "disordered_events"
    DISPATCH_TIMEOUT = "dispatch_timeout"
    DUPLICATE_EVENTS = "duplicate_events"
    HOST_DENIED_ADMISSION = "host_denied_admission"
    INTERNAL_ERROR = "internal_error"
    LOBBY = "lobby"
    LOBBY_TIMEOUT = "lobby_timeout"
    LOST_BOT = "lost_bot"
    LOST_BOT_MEDIA_SAVED = "lost_bot_media_saved"
    MEETING_ENDED = "meeting_ended"
    MEETING_NOT_FOUND = "meeting_not_found"
    NETWORK_LOSS = "network_loss"
    OUTPUT_FAILED = "output_failed"
    PERMISSION_DENIED = "permission_denied"
    PERMISSION_GRANTED = "permission_granted"
    PERMISSION_TIMEOUT = "permission_timeout"
    QUOTA_EXCEEDED = "quota_exceeded"
    RECORDING_DISABLED = "recording_disabled"
    REMOVED_FROM_MEETING = "removed_from_meeting"
    SECOND_ATTEMPT = "second_attempt"
    SLOW_MEETING = "slow_meeting"
    SUCCESS = "success"
    TRANSCRIPT_FAILED = "transcript_failed"
    WAITING_FOR_HOST = "waiting_for_host"

    def __str__(self) -> str:
        return str(self.value)
