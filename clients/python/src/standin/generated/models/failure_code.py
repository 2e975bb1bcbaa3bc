from ..._enum import OpenEnum


class FailureCode(OpenEnum):
    AUTH_FAILURE = "auth_failure"
    DISPATCH_TIMEOUT = "dispatch_timeout"
    HOST_DENIED_ADMISSION = "host_denied_admission"
    INTERNAL_ERROR = "internal_error"
    LOBBY_TIMEOUT = "lobby_timeout"
    MEETING_ENDED = "meeting_ended"
    MEETING_NOT_FOUND = "meeting_not_found"
    NETWORK_LOSS = "network_loss"
    QUOTA_EXCEEDED = "quota_exceeded"
    RECORDING_DISABLED = "recording_disabled"
    REMOVED_FROM_MEETING = "removed_from_meeting"
    WAITING_FOR_HOST = "waiting_for_host"
