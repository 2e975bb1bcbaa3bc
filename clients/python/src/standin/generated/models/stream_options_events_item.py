from ..._enum import OpenEnum


class StreamOptionsEventsItem(OpenEnum):
    CAPTION = "caption"
    CHAT = "chat"
    PARTICIPANTS = "participants"
    SPEAKING = "speaking"
    TRANSCRIPT = "transcript"
