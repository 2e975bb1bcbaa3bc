from enum import Enum


class WebhookEndpointState(str, Enum):
    ANSWERING = "answering"
    DEAD = "dead"
    FAILING = "failing"
    SLOW = "slow"
    UNTRIED = "untried"

    def __str__(self) -> str:
        return str(self.value)
