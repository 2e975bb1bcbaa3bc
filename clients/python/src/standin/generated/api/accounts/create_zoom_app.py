from http import HTTPStatus
from typing import Any

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.error import Error
from ...models.zoom_app import ZoomApp
from ...models.zoom_app_create import ZoomAppCreate
from ...types import Response


def _get_kwargs(
    *,
    body: ZoomAppCreate,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/api/v1/zoom-apps",
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Error | ZoomApp | None:
    if response.status_code == 201:
        response_201 = ZoomApp.from_dict(response.json())

        return response_201

    if response.status_code == 400:
        response_400 = Error.from_dict(response.json())

        return response_400

    if response.status_code == 401:
        response_401 = Error.from_dict(response.json())

        return response_401

    if response.status_code == 403:
        response_403 = Error.from_dict(response.json())

        return response_403

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


def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Error | ZoomApp]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient,
    body: ZoomAppCreate,
) -> Response[Error | ZoomApp]:
    """Add an app of Zoom

     Adds an app with its secrets, which are encrypted and never shown. In the app, set `/webhooks/zoom`
    of this service as the event notification URL.

    Args:
        body (ZoomAppCreate): An app to add.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | ZoomApp]
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
    client: AuthenticatedClient,
    body: ZoomAppCreate,
) -> Error | ZoomApp | None:
    """Add an app of Zoom

     Adds an app with its secrets, which are encrypted and never shown. In the app, set `/webhooks/zoom`
    of this service as the event notification URL.

    Args:
        body (ZoomAppCreate): An app to add.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | ZoomApp
    """

    return sync_detailed(
        client=client,
        body=body,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient,
    body: ZoomAppCreate,
) -> Response[Error | ZoomApp]:
    """Add an app of Zoom

     Adds an app with its secrets, which are encrypted and never shown. In the app, set `/webhooks/zoom`
    of this service as the event notification URL.

    Args:
        body (ZoomAppCreate): An app to add.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | ZoomApp]
    """

    kwargs = _get_kwargs(
        body=body,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient,
    body: ZoomAppCreate,
) -> Error | ZoomApp | None:
    """Add an app of Zoom

     Adds an app with its secrets, which are encrypted and never shown. In the app, set `/webhooks/zoom`
    of this service as the event notification URL.

    Args:
        body (ZoomAppCreate): An app to add.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | ZoomApp
    """

    return (
        await asyncio_detailed(
            client=client,
            body=body,
        )
    ).parsed
