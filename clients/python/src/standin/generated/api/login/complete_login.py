from http import HTTPStatus
from typing import Any, cast

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.device_flow_key import DeviceFlowKey
from ...models.done import Done
from ...models.error import Error
from ...types import Response


def _get_kwargs(
    *,
    body: DeviceFlowKey,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/api/v1/cli-auth/complete",
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Any | Done | Error | None:
    if response.status_code == 200:
        response_200 = Done.from_dict(response.json())

        return response_200

    if response.status_code == 400:
        response_400 = Error.from_dict(response.json())

        return response_400

    if response.status_code == 408:
        response_408 = Error.from_dict(response.json())

        return response_408

    if response.status_code == 410:
        response_410 = cast(Any, None)
        return response_410

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


def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Any | Done | Error]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient | Client,
    body: DeviceFlowKey,
) -> Response[Any | Done | Error]:
    """Complete a device flow with a key

     Called by the page on which the user signed in, with a key that it created. Repeating the
    request with the same key changes nothing; with another key it results in 410. Limited to 60
    requests per minute for each client address.

    Args:
        body (DeviceFlowKey): The key for a device flow.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Any | Done | Error]
    """

    kwargs = _get_kwargs(
        body=body,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    *,
    client: AuthenticatedClient | Client,
    body: DeviceFlowKey,
) -> Any | Done | Error | None:
    """Complete a device flow with a key

     Called by the page on which the user signed in, with a key that it created. Repeating the
    request with the same key changes nothing; with another key it results in 410. Limited to 60
    requests per minute for each client address.

    Args:
        body (DeviceFlowKey): The key for a device flow.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Any | Done | Error
    """

    return sync_detailed(
        client=client,
        body=body,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient | Client,
    body: DeviceFlowKey,
) -> Response[Any | Done | Error]:
    """Complete a device flow with a key

     Called by the page on which the user signed in, with a key that it created. Repeating the
    request with the same key changes nothing; with another key it results in 410. Limited to 60
    requests per minute for each client address.

    Args:
        body (DeviceFlowKey): The key for a device flow.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Any | Done | Error]
    """

    kwargs = _get_kwargs(
        body=body,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient | Client,
    body: DeviceFlowKey,
) -> Any | Done | Error | None:
    """Complete a device flow with a key

     Called by the page on which the user signed in, with a key that it created. Repeating the
    request with the same key changes nothing; with another key it results in 410. Limited to 60
    requests per minute for each client address.

    Args:
        body (DeviceFlowKey): The key for a device flow.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Any | Done | Error
    """

    return (
        await asyncio_detailed(
            client=client,
            body=body,
        )
    ).parsed
