"""Verifies the webhooks of Standin with the standard library only. Copy this file."""

import base64
import hashlib
import hmac
import time


def verify_webhook(secret, headers, body, now=None):
    """Returns whether a webhook was sent by Standin in the last five minutes.

    secret is the text as it was shown (whsec_...), headers a mapping with
    names in lower case, body the raw bytes.
    """
    try:
        message_id = headers["webhook-id"]
        timestamp = headers["webhook-timestamp"]
        signatures = headers["webhook-signature"]
        sent = int(timestamp)
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except (KeyError, ValueError):
        return False
    if abs((time.time() if now is None else now) - sent) > 300:
        return False
    signed = message_id.encode() + b"." + timestamp.encode() + b"." + body
    wanted = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
    verified = False
    for signature in signatures.split(" "):
        version, _, value = signature.partition(",")
        if version == "v1" and hmac.compare_digest(value.encode(), wanted):
            verified = True
    return verified
