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
    job_id: UUID,
    attempt: int,
    command_id: str,
) -> dict[str, Any]:

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/api/v1/ingest/output/{job_id}/{attempt}/{command_id}".format(
            job_id=quote(str(job_id), safe=""),
            attempt=quote(str(attempt), safe=""),
            command_id=quote(str(command_id), safe=""),
        ),
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Error | File | None:
    if response.status_code == 200:
        response_200 = File(payload=BytesIO(response.content))

        return response_200

    if response.status_code == 400:
        response_400 = Error.from_dict(response.json())

        return response_400

    if response.status_code == 401:
        response_401 = Error.from_dict(response.json())

        return response_401

    if response.status_code == 404:
        response_404 = Error.from_dict(response.json())

        return response_404

    if response.status_code == 429:
        response_429 = Error.from_dict(response.json())

        return response_429

    if response.status_code == 500:
        response_500 = Error.from_dict(response.json())

        return response_500

    if response.status_code == 503:
        response_503 = Error.from_dict(response.json())

        return response_503

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
    job_id: UUID,
    attempt: int,
    command_id: str,
    *,
    client: AuthenticatedClient,
) -> Response[Error | File]:
    """Read the output of a command

     Returns what a command makes the bot play or show. A sound is PCM S16LE, mono, 48 kHz. An image is a
    JPEG file, and a video one for
    each of its pictures, 10 per second, one after the other. It is deleted when the command is
    acknowledged.

    Args:
        job_id (UUID):
        attempt (int):
        command_id (str):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | File]
    """

    kwargs = _get_kwargs(
        job_id=job_id,
        attempt=attempt,
        command_id=command_id,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    job_id: UUID,
    attempt: int,
    command_id: str,
    *,
    client: AuthenticatedClient,
) -> Error | File | None:
    """Read the output of a command

     Returns what a command makes the bot play or show. A sound is PCM S16LE, mono, 48 kHz. An image is a
    JPEG file, and a video one for
    each of its pictures, 10 per second, one after the other. It is deleted when the command is
    acknowledged.

    Args:
        job_id (UUID):
        attempt (int):
        command_id (str):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | File
    """

    return sync_detailed(
        job_id=job_id,
        attempt=attempt,
        command_id=command_id,
        client=client,
    ).parsed


async def asyncio_detailed(
    job_id: UUID,
    attempt: int,
    command_id: str,
    *,
    client: AuthenticatedClient,
) -> Response[Error | File]:
    """Read the output of a command

     Returns what a command makes the bot play or show. A sound is PCM S16LE, mono, 48 kHz. An image is a
    JPEG file, and a video one for
    each of its pictures, 10 per second, one after the other. It is deleted when the command is
    acknowledged.

    Args:
        job_id (UUID):
        attempt (int):
        command_id (str):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | File]
    """

    kwargs = _get_kwargs(
        job_id=job_id,
        attempt=attempt,
        command_id=command_id,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    job_id: UUID,
    attempt: int,
    command_id: str,
    *,
    client: AuthenticatedClient,
) -> Error | File | None:
    """Read the output of a command

     Returns what a command makes the bot play or show. A sound is PCM S16LE, mono, 48 kHz. An image is a
    JPEG file, and a video one for
    each of its pictures, 10 per second, one after the other. It is deleted when the command is
    acknowledged.

    Args:
        job_id (UUID):
        attempt (int):
        command_id (str):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | File
    """

    return (
        await asyncio_detailed(
            job_id=job_id,
            attempt=attempt,
            command_id=command_id,
            client=client,
        )
    ).parsed
