from ..._enum import OpenEnum


class WebhookEndpointState(OpenEnum):
    ANSWERING = "answering"
    DEAD = "dead"
    FAILING = "failing"
    SLOW = "slow"
    UNTRIED = "untried"
