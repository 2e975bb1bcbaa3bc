"""Verification of webhooks."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .errors import StandinError, WebhookSignatureError
from .generated.events import DATA, WebhookData

TOLERANCE = 300.0
"""Seconds between the signature and now. As in the Standard Webhooks libraries."""

Headers = Mapping[str, str] | Iterable[tuple[str, str]]


@dataclass(frozen=True)
class Webhook:
    """The body of a webhook."""

    delivery_id: str
    """The same for all attempts: use it to discard duplicates."""
    event: str
    """For example `job.finalized`."""
    emitted_at: datetime
    attempt: int
    """The number of this attempt, starting at 1."""
    version: int
    """2, or 1 for consumers set to version 1."""
    data: WebhookData | dict[str, Any]
    """A type of `standin.models` for each event, for example JobFinalizedData. A dict for events that this version does
    not know."""
    job_id: str
    """Empty if the event is not that of a job."""


def verify_webhook(headers: Headers, body: bytes, secret: str, *, now: float | None = None) -> None:
    """Checks that a webhook was signed with the secret, in both schemes, less than five minutes ago.

    The headers are those of the request, for example `request.headers`, the body is its raw body, and the secret the
    text as it was shown (`whsec_...`). Signatures are compared in constant time.

    Raises WebhookSignatureError.
    """
    names: dict[str, list[str]] = {}
    for name, value in headers.items() if isinstance(headers, Mapping) else headers:
        names.setdefault(name.lower(), []).append(value)
    message_id = ",".join(names.get("webhook-id", ()))
    timestamp = ",".join(names.get("webhook-timestamp", ()))
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) < 16):
        raise WebhookSignatureError("the webhook has no time")
    if abs((time.time() if now is None else now) - int(timestamp)) > TOLERANCE:
        raise WebhookSignatureError("the webhook was signed too long ago")
    standard = hmac.new(_standard_key(secret), f"{message_id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    service = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    # While two secrets are valid, there is a signature for each. Some frameworks join headers of one name with commas.
    standards = " ".join(names.get("webhook-signature", ())).split()
    services = ",".join(names.get("x-service-signature", ())).replace(" ", "").split(",")
    both = _contains(standards, "v1," + base64.b64encode(standard).decode()) & _contains(services, "sha256=" + service)
    if not both:
        raise WebhookSignatureError("the signature of the webhook does not verify")


def receive_webhook(headers: Headers, body: bytes, secret: str, *, now: float | None = None) -> Webhook:
    """Verifies and decodes a webhook. Respond with a 2xx status after storing it.

    Raises WebhookSignatureError, or another StandinError if the body is not that of a webhook.
    """
    verify_webhook(headers, body, secret, now=now)
    try:
        return _decoded(json.loads(body))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise StandinError(f"the webhook cannot be decoded: {error!r}") from error


def _decoded(decoded: dict[str, Any]) -> Webhook:
    data = decoded["data"]
    kind = DATA.get(decoded["event"])
    return Webhook(
        delivery_id=decoded["deliveryId"],
        event=decoded["event"],
        emitted_at=datetime.fromisoformat(decoded["emittedAt"].replace("Z", "+00:00")),
        attempt=decoded["attempt"],
        version=decoded.get("version", 1),
        data=kind.from_dict(data) if kind else data,
        job_id=data.get("jobId", ""),
    )


def _contains(signatures: list[str], wanted: str) -> bool:
    found = False
    for signature in signatures:
        found |= hmac.compare_digest(signature.encode(), wanted.encode())
    return found


def _standard_key(secret: str) -> bytes:
    """Returns the Standard Webhooks key: the decoded part of whsec_..., or the bytes of a secret in another form."""
    if secret.startswith("whsec_"):
        try:
            return base64.b64decode(secret.removeprefix("whsec_"), validate=True) or secret.encode()
        except binascii.Error:
            pass
    return secret.encode()
