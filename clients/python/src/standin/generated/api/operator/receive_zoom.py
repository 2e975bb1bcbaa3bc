from http import HTTPStatus
from typing import Any

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.error import Error
from ...models.zoom_answer import ZoomAnswer
from ...models.zoom_event import ZoomEvent
from ...types import Response


def _get_kwargs(
    *,
    body: ZoomEvent,
    x_zm_signature: str,
    x_zm_request_timestamp: str,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    headers["x-zm-signature"] = x_zm_signature

    headers["x-zm-request-timestamp"] = x_zm_request_timestamp

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/webhooks/zoom",
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Error | ZoomAnswer | None:
    if response.status_code == 200:
        response_200 = ZoomAnswer.from_dict(response.json())

        return response_200

    if response.status_code == 400:
        response_400 = Error.from_dict(response.json())

        return response_400

    if response.status_code == 401:
        response_401 = Error.from_dict(response.json())

        return response_401

    if response.status_code == 408:
        response_408 = Error.from_dict(response.json())

        return response_408

    if response.status_code == 409:
        response_409 = Error.from_dict(response.json())

        return response_409

    if response.status_code == 413:
        response_413 = Error.from_dict(response.json())

        return response_413

    if response.status_code == 429:
        response_429 = Error.from_dict(response.json())

        return response_429

    if response.status_code == 500:
        response_500 = Error.from_dict(response.json())

        return response_500

    if client.raise_on_unexpected_status:
        raise errors.UnexpectedStatus(response.status_code, response.content)
    else:
        return None


def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Error | ZoomAnswer]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient | Client,
    body: ZoomEvent,
    x_zm_signature: str,
    x_zm_request_timestamp: str,
) -> Response[Error | ZoomAnswer]:
    """Receive an event of Zoom

     Called by Zoom for an app of `POST /api/v1/zoom-apps`. `x-zm-signature` is `v0=` and the HMAC-SHA256
    of `v0:<timestamp>:<body>` in
    hex, keyed by the secret token of the app; the timestamp may differ from the current time by up to
    300 seconds. The event
    `endpoint.url_validation` is answered with the signed token. `meeting.rtms_started`,
    `webinar.rtms_started` and
    `session.rtms_started` bring the media stream of a meeting to the job of `zoom-sdk` that waits for
    it. Others are accepted and ignored.

    Args:
        x_zm_signature (str):
        x_zm_request_timestamp (str):
        body (ZoomEvent): An event of Zoom.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | ZoomAnswer]
    """

    kwargs = _get_kwargs(
        body=body,
        x_zm_signature=x_zm_signature,
        x_zm_request_timestamp=x_zm_request_timestamp,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    *,
    client: AuthenticatedClient | Client,
    body: ZoomEvent,
    x_zm_signature: str,
    x_zm_request_timestamp: str,
) -> Error | ZoomAnswer | None:
    """Receive an event of Zoom

     Called by Zoom for an app of `POST /api/v1/zoom-apps`. `x-zm-signature` is `v0=` and the HMAC-SHA256
    of `v0:<timestamp>:<body>` in
    hex, keyed by the secret token of the app; the timestamp may differ from the current time by up to
    300 seconds. The event
    `endpoint.url_validation` is answered with the signed token. `meeting.rtms_started`,
    `webinar.rtms_started` and
    `session.rtms_started` bring the media stream of a meeting to the job of `zoom-sdk` that waits for
    it. Others are accepted and ignored.

    Args:
        x_zm_signature (str):
        x_zm_request_timestamp (str):
        body (ZoomEvent): An event of Zoom.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | ZoomAnswer
    """

    return sync_detailed(
        client=client,
        body=body,
        x_zm_signature=x_zm_signature,
        x_zm_request_timestamp=x_zm_request_timestamp,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient | Client,
    body: ZoomEvent,
    x_zm_signature: str,
    x_zm_request_timestamp: str,
) -> Response[Error | ZoomAnswer]:
    """Receive an event of Zoom

     Called by Zoom for an app of `POST /api/v1/zoom-apps`. `x-zm-signature` is `v0=` and the HMAC-SHA256
    of `v0:<timestamp>:<body>` in
    hex, keyed by the secret token of the app; the timestamp may differ from the current time by up to
    300 seconds. The event
    `endpoint.url_validation` is answered with the signed token. `meeting.rtms_started`,
    `webinar.rtms_started` and
    `session.rtms_started` bring the media stream of a meeting to the job of `zoom-sdk` that waits for
    it. Others are accepted and ignored.

    Args:
        x_zm_signature (str):
        x_zm_request_timestamp (str):
        body (ZoomEvent): An event of Zoom.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | ZoomAnswer]
    """

    kwargs = _get_kwargs(
        body=body,
        x_zm_signature=x_zm_signature,
        x_zm_request_timestamp=x_zm_request_timestamp,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient | Client,
    body: ZoomEvent,
    x_zm_signature: str,
    x_zm_request_timestamp: str,
) -> Error | ZoomAnswer | None:
    """Receive an event of Zoom

     Called by Zoom for an app of `POST /api/v1/zoom-apps`. `x-zm-signature` is `v0=` and the HMAC-SHA256
    of `v0:<timestamp>:<body>` in
    hex, keyed by the secret token of the app; the timestamp may differ from the current time by up to
    300 seconds. The event
    `endpoint.url_validation` is answered with the signed token. `meeting.rtms_started`,
    `webinar.rtms_started` and
    `session.rtms_started` bring the media stream of a meeting to the job of `zoom-sdk` that waits for
    it. Others are accepted and ignored.

    Args:
        x_zm_signature (str):
        x_zm_request_timestamp (str):
        body (ZoomEvent): An event of Zoom.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | ZoomAnswer
    """

    return (
        await asyncio_detailed(
            client=client,
            body=body,
            x_zm_signature=x_zm_signature,
            x_zm_request_timestamp=x_zm_request_timestamp,
        )
    ).parsed
