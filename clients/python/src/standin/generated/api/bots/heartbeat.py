from http import HTTPStatus
from typing import Any

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.error import Error
from ...models.heartbeat import Heartbeat
from ...models.heartbeat_result import HeartbeatResult
from ...types import UNSET, Response, Unset


def _get_kwargs(
    *,
    body: Heartbeat,
    wait: float | Unset = 0.0,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    params: dict[str, Any] = {}

    params["wait"] = wait

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/api/v1/ingest/heartbeat",
        "params": params,
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Error | HeartbeatResult | None:
    if response.status_code == 200:
        response_200 = HeartbeatResult.from_dict(response.json())

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

    if response.status_code == 413:
        response_413 = Error.from_dict(response.json())

        return response_413

    if response.status_code == 500:
        response_500 = Error.from_dict(response.json())

        return response_500

    if client.raise_on_unexpected_status:
        raise errors.UnexpectedStatus(response.status_code, response.content)
    else:
        return None


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[Error | HeartbeatResult]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient,
    body: Heartbeat,
    wait: float | Unset = 0.0,
) -> Response[Error | HeartbeatResult]:
    """Send a heartbeat and get pending commands

     Checks run in the same order as for `POST /api/v1/ingest`.
    Commands in `acked` are not sent again. Every other command is in each response until it is
    acknowledged, except to heartbeats that list it in `executing`.

    Args:
        wait (float | Unset):  Default: 0.0.
        body (Heartbeat): A heartbeat of a bot.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | HeartbeatResult]
    """

    kwargs = _get_kwargs(
        body=body,
        wait=wait,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    *,
    client: AuthenticatedClient,
    body: Heartbeat,
    wait: float | Unset = 0.0,
) -> Error | HeartbeatResult | None:
    """Send a heartbeat and get pending commands

     Checks run in the same order as for `POST /api/v1/ingest`.
    Commands in `acked` are not sent again. Every other command is in each response until it is
    acknowledged, except to heartbeats that list it in `executing`.

    Args:
        wait (float | Unset):  Default: 0.0.
        body (Heartbeat): A heartbeat of a bot.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | HeartbeatResult
    """

    return sync_detailed(
        client=client,
        body=body,
        wait=wait,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient,
    body: Heartbeat,
    wait: float | Unset = 0.0,
) -> Response[Error | HeartbeatResult]:
    """Send a heartbeat and get pending commands

     Checks run in the same order as for `POST /api/v1/ingest`.
    Commands in `acked` are not sent again. Every other command is in each response until it is
    acknowledged, except to heartbeats that list it in `executing`.

    Args:
        wait (float | Unset):  Default: 0.0.
        body (Heartbeat): A heartbeat of a bot.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | HeartbeatResult]
    """

    kwargs = _get_kwargs(
        body=body,
        wait=wait,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient,
    body: Heartbeat,
    wait: float | Unset = 0.0,
) -> Error | HeartbeatResult | None:
    """Send a heartbeat and get pending commands

     Checks run in the same order as for `POST /api/v1/ingest`.
    Commands in `acked` are not sent again. Every other command is in each response until it is
    acknowledged, except to heartbeats that list it in `executing`.

    Args:
        wait (float | Unset):  Default: 0.0.
        body (Heartbeat): A heartbeat of a bot.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | HeartbeatResult
    """

    return (
        await asyncio_detailed(
            client=client,
            body=body,
            wait=wait,
        )
    ).parsed
