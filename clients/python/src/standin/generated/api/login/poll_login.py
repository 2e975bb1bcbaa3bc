from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.device_flow_response import DeviceFlowResponse
from ...models.error import Error
from ...models.expired_device_flow import ExpiredDeviceFlow
from ...types import Response


def _get_kwargs(
    nonce: str,
) -> dict[str, Any]:

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/api/v1/cli-auth/poll/{nonce}".format(
            nonce=quote(str(nonce), safe=""),
        ),
    }

    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> DeviceFlowResponse | Error | ExpiredDeviceFlow | None:
    if response.status_code == 200:
        response_200 = DeviceFlowResponse.from_dict(response.json())

        return response_200

    if response.status_code == 410:
        response_410 = ExpiredDeviceFlow.from_dict(response.json())

        return response_410

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


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[DeviceFlowResponse | Error | ExpiredDeviceFlow]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    nonce: str,
    *,
    client: AuthenticatedClient | Client,
) -> Response[DeviceFlowResponse | Error | ExpiredDeviceFlow]:
    """Poll a device flow

     Poll about every two seconds until `status` is not `pending`. Limited to 600 requests per
    minute for each client address. A complete flow stays complete until it expires.

    Args:
        nonce (str):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[DeviceFlowResponse | Error | ExpiredDeviceFlow]
    """

    kwargs = _get_kwargs(
        nonce=nonce,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    nonce: str,
    *,
    client: AuthenticatedClient | Client,
) -> DeviceFlowResponse | Error | ExpiredDeviceFlow | None:
    """Poll a device flow

     Poll about every two seconds until `status` is not `pending`. Limited to 600 requests per
    minute for each client address. A complete flow stays complete until it expires.

    Args:
        nonce (str):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        DeviceFlowResponse | Error | ExpiredDeviceFlow
    """

    return sync_detailed(
        nonce=nonce,
        client=client,
    ).parsed


async def asyncio_detailed(
    nonce: str,
    *,
    client: AuthenticatedClient | Client,
) -> Response[DeviceFlowResponse | Error | ExpiredDeviceFlow]:
    """Poll a device flow

     Poll about every two seconds until `status` is not `pending`. Limited to 600 requests per
    minute for each client address. A complete flow stays complete until it expires.

    Args:
        nonce (str):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[DeviceFlowResponse | Error | ExpiredDeviceFlow]
    """

    kwargs = _get_kwargs(
        nonce=nonce,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    nonce: str,
    *,
    client: AuthenticatedClient | Client,
) -> DeviceFlowResponse | Error | ExpiredDeviceFlow | None:
    """Poll a device flow

     Poll about every two seconds until `status` is not `pending`. Limited to 600 requests per
    minute for each client address. A complete flow stays complete until it expires.

    Args:
        nonce (str):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        DeviceFlowResponse | Error | ExpiredDeviceFlow
    """

    return (
        await asyncio_detailed(
            nonce=nonce,
            client=client,
        )
    ).parsed
