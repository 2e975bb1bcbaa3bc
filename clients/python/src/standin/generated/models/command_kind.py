from enum import Enum


class CommandKind(str, Enum):
    LEAVE_CALL = "leave_call"
    PAUSE_RECORDING = "pause_recording"
    PIN_PARTICIPANT = "pin_participant"
    REQUEST_RECORDING_PERMISSION = "request_recording_permission"
    RESUME_RECORDING = "resume_recording"
    SEND_CHAT_MESSAGE = "send_chat_message"
    STOP_RECORDING = "stop_recording"

    def __str__(self) -> str:
        return str(self.value)
