from ..._enum import OpenEnum


class LiveEventEvent(OpenEnum):
    CAPTION = "caption"
    CHAT = "chat"
    COMMAND = "command"
    END = "end"
    OUTPUT = "output"
    PARTICIPANTS = "participants"
    SPEAKING = "speaking"
    STATE = "state"
    STREAM = "stream"
    TRANSCRIPT = "transcript"
