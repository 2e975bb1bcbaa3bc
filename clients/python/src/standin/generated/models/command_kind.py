from ..._enum import OpenEnum


class CommandKind(OpenEnum):
    LEAVE_CALL = "leave_call"
    PAUSE_RECORDING = "pause_recording"
    PIN_PARTICIPANT = "pin_participant"
    PLAY_AUDIO = "play_audio"
    REQUEST_RECORDING_PERMISSION = "request_recording_permission"
    RESUME_RECORDING = "resume_recording"
    SEND_CHAT_MESSAGE = "send_chat_message"
    SET_CAMERA = "set_camera"
    SHARE_SCREEN = "share_screen"
    SPEAK = "speak"
    STOP_OUTPUT = "stop_output"
    STOP_RECORDING = "stop_recording"
