from ..._enum import OpenEnum


class StreamOptionsFormat(OpenEnum):
    ATTENDEE = "attendee"
    MEETINGBAAS = "meetingbaas"
    RECALL = "recall"
    STANDIN = "standin"
