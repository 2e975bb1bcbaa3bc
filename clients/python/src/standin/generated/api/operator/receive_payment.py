from http import HTTPStatus
from typing import Any, cast

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.error import Error
from ...models.payment_event import PaymentEvent
from ...models.payment_response import PaymentResponse
from ...types import Response


def _get_kwargs(
    *,
    body: PaymentEvent,
    payment_signature: str,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    headers["Payment-Signature"] = payment_signature

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/webhooks/payments",
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Any | Error | PaymentResponse | None:
    if response.status_code == 200:
        response_200 = PaymentResponse.from_dict(response.json())

        return response_200

    if response.status_code == 400:
        response_400 = cast(Any, None)
        return response_400

    if response.status_code == 408:
        response_408 = Error.from_dict(response.json())

        return response_408

    if response.status_code == 413:
        response_413 = Error.from_dict(response.json())

        return response_413

    if response.status_code == 500:
        response_500 = Error.from_dict(response.json())

        return response_500

    if response.status_code == 503:
        response_503 = cast(Any, None)
        return response_503

    if client.raise_on_unexpected_status:
        raise errors.UnexpectedStatus(response.status_code, response.content)
    else:
        return None


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[Any | Error | PaymentResponse]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient,
    body: PaymentEvent,
    payment_signature: str,
) -> Response[Any | Error | PaymentResponse]:
    """Receive an event of the payment provider

     Called by the payment provider. The signature is `t=<seconds>,v1=<hex>`, where v1 is the
    HMAC-SHA256 of `<t>.<body>`, keyed by the configured secret. There may be several v1 values, and
    `t` may differ from the current time by up to 300 seconds. If `Payment-Signature` is missing, the
    header `Stripe-Signature` is used. Events may arrive in any order and more than once. Unknown
    event types are accepted and ignored.

    Args:
        payment_signature (str):
        body (PaymentEvent): An event of the payment provider. Any JSON object is accepted.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Any | Error | PaymentResponse]
    """

    kwargs = _get_kwargs(
        body=body,
        payment_signature=payment_signature,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    *,
    client: AuthenticatedClient,
    body: PaymentEvent,
    payment_signature: str,
) -> Any | Error | PaymentResponse | None:
    """Receive an event of the payment provider

     Called by the payment provider. The signature is `t=<seconds>,v1=<hex>`, where v1 is the
    HMAC-SHA256 of `<t>.<body>`, keyed by the configured secret. There may be several v1 values, and
    `t` may differ from the current time by up to 300 seconds. If `Payment-Signature` is missing, the
    header `Stripe-Signature` is used. Events may arrive in any order and more than once. Unknown
    event types are accepted and ignored.

    Args:
        payment_signature (str):
        body (PaymentEvent): An event of the payment provider. Any JSON object is accepted.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Any | Error | PaymentResponse
    """

    return sync_detailed(
        client=client,
        body=body,
        payment_signature=payment_signature,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient,
    body: PaymentEvent,
    payment_signature: str,
) -> Response[Any | Error | PaymentResponse]:
    """Receive an event of the payment provider

     Called by the payment provider. The signature is `t=<seconds>,v1=<hex>`, where v1 is the
    HMAC-SHA256 of `<t>.<body>`, keyed by the configured secret. There may be several v1 values, and
    `t` may differ from the current time by up to 300 seconds. If `Payment-Signature` is missing, the
    header `Stripe-Signature` is used. Events may arrive in any order and more than once. Unknown
    event types are accepted and ignored.

    Args:
        payment_signature (str):
        body (PaymentEvent): An event of the payment provider. Any JSON object is accepted.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Any | Error | PaymentResponse]
    """

    kwargs = _get_kwargs(
        body=body,
        payment_signature=payment_signature,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient,
    body: PaymentEvent,
    payment_signature: str,
) -> Any | Error | PaymentResponse | None:
    """Receive an event of the payment provider

     Called by the payment provider. The signature is `t=<seconds>,v1=<hex>`, where v1 is the
    HMAC-SHA256 of `<t>.<body>`, keyed by the configured secret. There may be several v1 values, and
    `t` may differ from the current time by up to 300 seconds. If `Payment-Signature` is missing, the
    header `Stripe-Signature` is used. Events may arrive in any order and more than once. Unknown
    event types are accepted and ignored.

    Args:
        payment_signature (str):
        body (PaymentEvent): An event of the payment provider. Any JSON object is accepted.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Any | Error | PaymentResponse
    """

    return (
        await asyncio_detailed(
            client=client,
            body=body,
            payment_signature=payment_signature,
        )
    ).parsed
