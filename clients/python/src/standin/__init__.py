"""Client of Standin, which sends a bot into online meetings and returns recordings."""

from ._async_client import AsyncPages, AsyncStandin
from ._client import Pages, Standin
from ._results import FINAL, Command, CreatedJob, Page
from ._version import __version__
from .errors import (
    APIConnectionError,
    APIError,
    APITimeoutError,
    ChecksumError,
    ConflictError,
    ForbiddenError,
    InvalidInputError,
    InvalidStateError,
    Issue,
    NotFoundError,
    RateLimitedError,
    ServerError,
    StandinError,
    UnauthorizedError,
    UnexpectedResponseError,
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
    "AsyncPages",
    "AsyncStandin",
    "ChecksumError",
    "Command",
    "ConflictError",
    "CreatedJob",
    "ForbiddenError",
    "InvalidInputError",
    "InvalidStateError",
    "Issue",
    "LiveEvent",
    "NotFoundError",
    "Page",
    "Pages",
    "RateLimitedError",
    "ServerError",
    "Standin",
    "StandinError",
    "UnauthorizedError",
    "UnexpectedResponseError",
    "WaitTimeoutError",
    "Webhook",
    "WebhookSignatureError",
    "__version__",
    "receive_webhook",
    "verify_webhook",
]
