from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote
from uuid import UUID

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.error import Error
from ...models.listen_to_job_audio import ListenToJobAudio
from ...models.listen_to_job_sample_rate import ListenToJobSampleRate
from ...types import UNSET, Response, Unset


def _get_kwargs(
    id: UUID,
    *,
    audio: ListenToJobAudio | Unset = UNSET,
    sample_rate: ListenToJobSampleRate | Unset = UNSET,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    json_audio: str | Unset = UNSET
    if not isinstance(audio, Unset):
        json_audio = audio.value

    params["audio"] = json_audio

    json_sample_rate: int | Unset = UNSET
    if not isinstance(sample_rate, Unset):
        json_sample_rate = sample_rate.value

    params["sampleRate"] = json_sample_rate

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/api/v1/jobs/{id}/audio".format(
            id=quote(str(id), safe=""),
        ),
        "params": params,
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

    if response.status_code == 404:
        response_404 = Error.from_dict(response.json())

        return response_404

    if response.status_code == 409:
        response_409 = Error.from_dict(response.json())

        return response_409

    if response.status_code == 426:
        response_426 = Error.from_dict(response.json())

        return response_426

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


def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Any | Error]:
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
    audio: ListenToJobAudio | Unset = UNSET,
    sample_rate: ListenToJobSampleRate | Unset = UNSET,
) -> Response[Any | Error]:
    """Listen to a meeting

     A WebSocket with the sound of the meeting from now on, while it is recorded. Connect before or after
    the bot joins.
    The messages are the same as in a stream with the format `standin`: JSON texts (`start`, `speaker`,
    `gap`, `end`) and
    binary frames of 20 ms of PCM. The guide *Follow a meeting live* describes them.

    A listener that reads too slowly misses the frames that have waited for two seconds, and gets a
    `gap`. The service
    sends a ping every 15 seconds, and closes the connection if nothing comes back for 15 seconds. It
    closes it with the
    code 1000 after `end`. A consumer may have 100 listeners per node, and a node 1000.

    Args:
        id (UUID):
        audio (ListenToJobAudio | Unset):
        sample_rate (ListenToJobSampleRate | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Any | Error]
    """

    kwargs = _get_kwargs(
        id=id,
        audio=audio,
        sample_rate=sample_rate,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    id: UUID,
    *,
    client: AuthenticatedClient,
    audio: ListenToJobAudio | Unset = UNSET,
    sample_rate: ListenToJobSampleRate | Unset = UNSET,
) -> Any | Error | None:
    """Listen to a meeting

     A WebSocket with the sound of the meeting from now on, while it is recorded. Connect before or after
    the bot joins.
    The messages are the same as in a stream with the format `standin`: JSON texts (`start`, `speaker`,
    `gap`, `end`) and
    binary frames of 20 ms of PCM. The guide *Follow a meeting live* describes them.

    A listener that reads too slowly misses the frames that have waited for two seconds, and gets a
    `gap`. The service
    sends a ping every 15 seconds, and closes the connection if nothing comes back for 15 seconds. It
    closes it with the
    code 1000 after `end`. A consumer may have 100 listeners per node, and a node 1000.

    Args:
        id (UUID):
        audio (ListenToJobAudio | Unset):
        sample_rate (ListenToJobSampleRate | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Any | Error
    """

    return sync_detailed(
        id=id,
        client=client,
        audio=audio,
        sample_rate=sample_rate,
    ).parsed


async def asyncio_detailed(
    id: UUID,
    *,
    client: AuthenticatedClient,
    audio: ListenToJobAudio | Unset = UNSET,
    sample_rate: ListenToJobSampleRate | Unset = UNSET,
) -> Response[Any | Error]:
    """Listen to a meeting

     A WebSocket with the sound of the meeting from now on, while it is recorded. Connect before or after
    the bot joins.
    The messages are the same as in a stream with the format `standin`: JSON texts (`start`, `speaker`,
    `gap`, `end`) and
    binary frames of 20 ms of PCM. The guide *Follow a meeting live* describes them.

    A listener that reads too slowly misses the frames that have waited for two seconds, and gets a
    `gap`. The service
    sends a ping every 15 seconds, and closes the connection if nothing comes back for 15 seconds. It
    closes it with the
    code 1000 after `end`. A consumer may have 100 listeners per node, and a node 1000.

    Args:
        id (UUID):
        audio (ListenToJobAudio | Unset):
        sample_rate (ListenToJobSampleRate | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Any | Error]
    """

    kwargs = _get_kwargs(
        id=id,
        audio=audio,
        sample_rate=sample_rate,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    id: UUID,
    *,
    client: AuthenticatedClient,
    audio: ListenToJobAudio | Unset = UNSET,
    sample_rate: ListenToJobSampleRate | Unset = UNSET,
) -> Any | Error | None:
    """Listen to a meeting

     A WebSocket with the sound of the meeting from now on, while it is recorded. Connect before or after
    the bot joins.
    The messages are the same as in a stream with the format `standin`: JSON texts (`start`, `speaker`,
    `gap`, `end`) and
    binary frames of 20 ms of PCM. The guide *Follow a meeting live* describes them.

    A listener that reads too slowly misses the frames that have waited for two seconds, and gets a
    `gap`. The service
    sends a ping every 15 seconds, and closes the connection if nothing comes back for 15 seconds. It
    closes it with the
    code 1000 after `end`. A consumer may have 100 listeners per node, and a node 1000.

    Args:
        id (UUID):
        audio (ListenToJobAudio | Unset):
        sample_rate (ListenToJobSampleRate | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Any | Error
    """

    return (
        await asyncio_detailed(
            id=id,
            client=client,
            audio=audio,
            sample_rate=sample_rate,
        )
    ).parsed
