from http import HTTPStatus
from io import BytesIO
from typing import Any
from urllib.parse import quote
from uuid import UUID

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.error import Error
from ...types import File, Response


def _get_kwargs(
    id: UUID,
) -> dict[str, Any]:

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/api/v1/jobs/{id}/screenshot".format(
            id=quote(str(id), safe=""),
        ),
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Error | File | None:
    if response.status_code == 200:
        response_200 = File(payload=BytesIO(response.content))

        return response_200

    if response.status_code == 401:
        response_401 = Error.from_dict(response.json())

        return response_401

    if response.status_code == 404:
        response_404 = Error.from_dict(response.json())

        return response_404

    if response.status_code == 409:
        response_409 = Error.from_dict(response.json())

        return response_409

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


def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Error | File]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    id: UUID,
    *,
    client: AuthenticatedClient,
) -> Response[Error | File]:
    """Get a picture of the meeting page

     The newest picture of what the bot sees, a JPEG of at most 960 pixels in width and 100 kB. The bot
    sends one
    about every three seconds for half a minute after each request. The first request waits up to ten
    seconds for
    the first picture.

    The response is 409 `invalid_state` while the bot has no meeting page, for test jobs, while the job
    lacks the
    permission that it requires, and in the meeting while nothing is recorded: paused or stopped. Only
    the newest picture
    is kept, until the job ends. Operators turn pictures off with `STANDIN_NO_SCREENSHOTS`.

    Args:
        id (UUID):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | File]
    """

    kwargs = _get_kwargs(
        id=id,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    id: UUID,
    *,
    client: AuthenticatedClient,
) -> Error | File | None:
    """Get a picture of the meeting page

     The newest picture of what the bot sees, a JPEG of at most 960 pixels in width and 100 kB. The bot
    sends one
    about every three seconds for half a minute after each request. The first request waits up to ten
    seconds for
    the first picture.

    The response is 409 `invalid_state` while the bot has no meeting page, for test jobs, while the job
    lacks the
    permission that it requires, and in the meeting while nothing is recorded: paused or stopped. Only
    the newest picture
    is kept, until the job ends. Operators turn pictures off with `STANDIN_NO_SCREENSHOTS`.

    Args:
        id (UUID):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | File
    """

    return sync_detailed(
        id=id,
        client=client,
    ).parsed


async def asyncio_detailed(
    id: UUID,
    *,
    client: AuthenticatedClient,
) -> Response[Error | File]:
    """Get a picture of the meeting page

     The newest picture of what the bot sees, a JPEG of at most 960 pixels in width and 100 kB. The bot
    sends one
    about every three seconds for half a minute after each request. The first request waits up to ten
    seconds for
    the first picture.

    The response is 409 `invalid_state` while the bot has no meeting page, for test jobs, while the job
    lacks the
    permission that it requires, and in the meeting while nothing is recorded: paused or stopped. Only
    the newest picture
    is kept, until the job ends. Operators turn pictures off with `STANDIN_NO_SCREENSHOTS`.

    Args:
        id (UUID):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | File]
    """

    kwargs = _get_kwargs(
        id=id,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    id: UUID,
    *,
    client: AuthenticatedClient,
) -> Error | File | None:
    """Get a picture of the meeting page

     The newest picture of what the bot sees, a JPEG of at most 960 pixels in width and 100 kB. The bot
    sends one
    about every three seconds for half a minute after each request. The first request waits up to ten
    seconds for
    the first picture.

    The response is 409 `invalid_state` while the bot has no meeting page, for test jobs, while the job
    lacks the
    permission that it requires, and in the meeting while nothing is recorded: paused or stopped. Only
    the newest picture
    is kept, until the job ends. Operators turn pictures off with `STANDIN_NO_SCREENSHOTS`.

    Args:
        id (UUID):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | File
    """

    return (
        await asyncio_detailed(
            id=id,
            client=client,
        )
    ).parsed
