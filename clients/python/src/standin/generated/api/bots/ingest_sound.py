from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote
from uuid import UUID

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.error import Error
from ...types import Response


def _get_kwargs(
    job_id: UUID,
    attempt: int,
) -> dict[str, Any]:

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/api/v1/ingest/sound/{job_id}/{attempt}".format(
            job_id=quote(str(job_id), safe=""),
            attempt=quote(str(attempt), safe=""),
        ),
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Any | Error | None:
    if response.status_code == 101:
        response_101 = cast(Any, None)
        return response_101

    if response.status_code == 400:
        response_400 = Error.from_dict(response.json())

        return response_400

    if response.status_code == 401:
        response_401 = Error.from_dict(response.json())

        return response_401

    if response.status_code == 409:
        response_409 = Error.from_dict(response.json())

        return response_409

    if response.status_code == 426:
        response_426 = Error.from_dict(response.json())

        return response_426

    if response.status_code == 500:
        response_500 = Error.from_dict(response.json())

        return response_500

    if client.raise_on_unexpected_status:
        raise errors.UnexpectedStatus(response.status_code, response.content)
    else:
        return None


def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Any | Error]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    job_id: UUID,
    attempt: int,
    *,
    client: AuthenticatedClient,
) -> Response[Any | Error]:
    r"""Send live sound

     A WebSocket between a bot and the service, from the start of the recording until the bot has left.
    The bot sends
    the text `{\"type\": \"start\", \"startedAt\": …}` first, `{\"type\": \"participant\", \"source\":
    1, \"id\": …, \"name\": …}` when it
    knows whose audio a source is, and `{\"type\": \"end\"}` when it has left the meeting. The service
    sends
    `{\"type\": \"want\", \"mixed\": true, \"participants\": true}` when that changes, and `{\"type\":
    \"stop_playing\"}`.

    Binary messages of the bot are frames of 20 ms: the number of the source (0 is the mixed sound) as 4
    bytes and
    the time in Unix microseconds as 8 bytes, both little-endian, and 960 samples. Binary messages of
    the service are
    samples to play into the meeting. Samples are signed 16-bit little-endian, mono, 48 kHz.

    A new connection of the same job replaces the earlier one. Checks run in the
    same order as for `POST /api/v1/ingest`.

    Args:
        job_id (UUID):
        attempt (int):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Any | Error]
    """

    kwargs = _get_kwargs(
        job_id=job_id,
        attempt=attempt,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    job_id: UUID,
    attempt: int,
    *,
    client: AuthenticatedClient,
) -> Any | Error | None:
    r"""Send live sound

     A WebSocket between a bot and the service, from the start of the recording until the bot has left.
    The bot sends
    the text `{\"type\": \"start\", \"startedAt\": …}` first, `{\"type\": \"participant\", \"source\":
    1, \"id\": …, \"name\": …}` when it
    knows whose audio a source is, and `{\"type\": \"end\"}` when it has left the meeting. The service
    sends
    `{\"type\": \"want\", \"mixed\": true, \"participants\": true}` when that changes, and `{\"type\":
    \"stop_playing\"}`.

    Binary messages of the bot are frames of 20 ms: the number of the source (0 is the mixed sound) as 4
    bytes and
    the time in Unix microseconds as 8 bytes, both little-endian, and 960 samples. Binary messages of
    the service are
    samples to play into the meeting. Samples are signed 16-bit little-endian, mono, 48 kHz.

    A new connection of the same job replaces the earlier one. Checks run in the
    same order as for `POST /api/v1/ingest`.

    Args:
        job_id (UUID):
        attempt (int):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Any | Error
    """

    return sync_detailed(
        job_id=job_id,
        attempt=attempt,
        client=client,
    ).parsed


async def asyncio_detailed(
    job_id: UUID,
    attempt: int,
    *,
    client: AuthenticatedClient,
) -> Response[Any | Error]:
    r"""Send live sound

     A WebSocket between a bot and the service, from the start of the recording until the bot has left.
    The bot sends
    the text `{\"type\": \"start\", \"startedAt\": …}` first, `{\"type\": \"participant\", \"source\":
    1, \"id\": …, \"name\": …}` when it
    knows whose audio a source is, and `{\"type\": \"end\"}` when it has left the meeting. The service
    sends
    `{\"type\": \"want\", \"mixed\": true, \"participants\": true}` when that changes, and `{\"type\":
    \"stop_playing\"}`.

    Binary messages of the bot are frames of 20 ms: the number of the source (0 is the mixed sound) as 4
    bytes and
    the time in Unix microseconds as 8 bytes, both little-endian, and 960 samples. Binary messages of
    the service are
    samples to play into the meeting. Samples are signed 16-bit little-endian, mono, 48 kHz.

    A new connection of the same job replaces the earlier one. Checks run in the
    same order as for `POST /api/v1/ingest`.

    Args:
        job_id (UUID):
        attempt (int):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Any | Error]
    """

    kwargs = _get_kwargs(
        job_id=job_id,
        attempt=attempt,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    job_id: UUID,
    attempt: int,
    *,
    client: AuthenticatedClient,
) -> Any | Error | None:
    r"""Send live sound

     A WebSocket between a bot and the service, from the start of the recording until the bot has left.
    The bot sends
    the text `{\"type\": \"start\", \"startedAt\": …}` first, `{\"type\": \"participant\", \"source\":
    1, \"id\": …, \"name\": …}` when it
    knows whose audio a source is, and `{\"type\": \"end\"}` when it has left the meeting. The service
    sends
    `{\"type\": \"want\", \"mixed\": true, \"participants\": true}` when that changes, and `{\"type\":
    \"stop_playing\"}`.

    Binary messages of the bot are frames of 20 ms: the number of the source (0 is the mixed sound) as 4
    bytes and
    the time in Unix microseconds as 8 bytes, both little-endian, and 960 samples. Binary messages of
    the service are
    samples to play into the meeting. Samples are signed 16-bit little-endian, mono, 48 kHz.

    A new connection of the same job replaces the earlier one. Checks run in the
    same order as for `POST /api/v1/ingest`.

    Args:
        job_id (UUID):
        attempt (int):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Any | Error
    """

    return (
        await asyncio_detailed(
            job_id=job_id,
            attempt=attempt,
            client=client,
        )
    ).parsed
