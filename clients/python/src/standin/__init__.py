"""Client of Standin, which sends a bot into online meetings and returns recordings."""

from ._async_client import AsyncStandin
from ._client import Standin
from ._results import FINAL, Command, CreatedJob
from .errors import (
    APIConnectionError,
    APIError,
    APITimeoutError,
    ChecksumError,
    InvalidInputError,
    InvalidStateError,
    Issue,
    NotFoundError,
    RateLimitedError,
    ServerError,
    StandinError,
    UnauthorizedError,
    WaitTimeoutError,
    WebhookSignatureError,
)
from .live import LiveEvent
from .webhooks import Webhook, receive_webhook, verify_webhook

__all__ = [
    "FINAL",
    "APIConnectionError",
    "APIError",
    "APITimeoutError",
    "AsyncStandin",
    "ChecksumError",
    "Command",
    "CreatedJob",
    "InvalidInputError",
    "InvalidStateError",
    "Issue",
    "LiveEvent",
    "NotFoundError",
    "RateLimitedError",
    "ServerError",
    "Standin",
    "StandinError",
    "UnauthorizedError",
    "WaitTimeoutError",
    "Webhook",
    "WebhookSignatureError",
    "receive_webhook",
    "verify_webhook",
]
