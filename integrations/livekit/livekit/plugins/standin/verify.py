"""Signatures of Standin's connection requests."""

import base64
import hmac
import time
from collections.abc import Mapping

MAX_AGE = 300  # seconds


def verify_request(secret: str, headers: Mapping[str, str]) -> bool:
    """Reports whether Standin sent a connection request in the last five minutes.

    The request is signed like a webhook with an empty body, as Standard Webhooks specifies. secret is the webhook
    secret of the team, as it was shown (whsec_...). headers is a mapping with names in lower case, or one that
    ignores case. Raises ValueError if the secret is unusable.
    """
    key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    if not key:
        raise ValueError("the webhook secret is empty")
    message_id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    try:
        fresh = abs(int(time.time()) - int(timestamp)) <= MAX_AGE
    except ValueError:
        return False
    digest = hmac.digest(key, f"{message_id}.{timestamp}.".encode(errors="replace"), "sha256")
    wanted = b"v1," + base64.b64encode(digest)
    signatures = headers.get("webhook-signature", "").encode(errors="replace").split(b" ")
    matches = [hmac.compare_digest(signature, wanted) for signature in signatures]
    return fresh and any(matches)
