from enum import Enum


class WebhookEndpointState(str, Enum):
    ANSWERING = "answering"
    DEAD = "dead"
    FAILING = "failing"

    def __str__(self) -> str:
        return str(self.value)
