from http import HTTPStatus
from io import BytesIO
from typing import Any, cast
from urllib.parse import quote
from uuid import UUID

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.error import Error
from ...models.get_media_response_202 import GetMediaResponse202
from ...types import UNSET, File, Response, Unset


def _get_kwargs(
    id: UUID,
    name: str,
    *,
    range_: str | Unset = UNSET,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    if not isinstance(range_, Unset):
        headers["Range"] = range_

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/api/v1/jobs/{id}/media/{name}".format(
            id=quote(str(id), safe=""),
            name=quote(str(name), safe=""),
        ),
    }

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Any | Error | File | GetMediaResponse202 | None:
    if response.status_code == 200:
        response_200 = File(payload=BytesIO(response.content))

        return response_200

    if response.status_code == 202:
        response_202 = GetMediaResponse202.from_dict(response.json())

        return response_202

    if response.status_code == 206:
        response_206 = File(payload=BytesIO(response.content))

        return response_206

    if response.status_code == 304:
        response_304 = cast(Any, None)
        return response_304

    if response.status_code == 307:
        response_307 = cast(Any, None)
        return response_307

    if response.status_code == 401:
        response_401 = Error.from_dict(response.json())

        return response_401

    if response.status_code == 404:
        response_404 = Error.from_dict(response.json())

        return response_404

    if response.status_code == 412:
        response_412 = cast(Any, None)
        return response_412

    if response.status_code == 416:
        response_416 = Error.from_dict(response.json())

        return response_416

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
) -> Response[Any | Error | File | GetMediaResponse202]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    id: UUID,
    name: str,
    *,
    client: AuthenticatedClient,
    range_: str | Unset = UNSET,
) -> Response[Any | Error | File | GetMediaResponse202]:
    """Get a media file

     Returns a file of the manifest, or one that is made from the recording when it is first requested
    and kept with it:
    `recording.mp3`, `recording.wav`, `recording.webm`, and of a video `thumbnail.jpg` (640 pixels wide)
    and
    `contact-sheet.jpg` (16 pictures). While such a file is being made, the status is 202. Range
    requests and conditional requests are supported
    (RFC 9110). If the storage supports signed URLs, a GET is redirected to one. Follow the redirect
    immediately, because the URL expires, and without the API key.

    Args:
        id (UUID):
        name (str):
        range_ (str | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Any | Error | File | GetMediaResponse202]
    """

    kwargs = _get_kwargs(
        id=id,
        name=name,
        range_=range_,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    id: UUID,
    name: str,
    *,
    client: AuthenticatedClient,
    range_: str | Unset = UNSET,
) -> Any | Error | File | GetMediaResponse202 | None:
    """Get a media file

     Returns a file of the manifest, or one that is made from the recording when it is first requested
    and kept with it:
    `recording.mp3`, `recording.wav`, `recording.webm`, and of a video `thumbnail.jpg` (640 pixels wide)
    and
    `contact-sheet.jpg` (16 pictures). While such a file is being made, the status is 202. Range
    requests and conditional requests are supported
    (RFC 9110). If the storage supports signed URLs, a GET is redirected to one. Follow the redirect
    immediately, because the URL expires, and without the API key.

    Args:
        id (UUID):
        name (str):
        range_ (str | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Any | Error | File | GetMediaResponse202
    """

    return sync_detailed(
        id=id,
        name=name,
        client=client,
        range_=range_,
    ).parsed


async def asyncio_detailed(
    id: UUID,
    name: str,
    *,
    client: AuthenticatedClient,
    range_: str | Unset = UNSET,
) -> Response[Any | Error | File | GetMediaResponse202]:
    """Get a media file

     Returns a file of the manifest, or one that is made from the recording when it is first requested
    and kept with it:
    `recording.mp3`, `recording.wav`, `recording.webm`, and of a video `thumbnail.jpg` (640 pixels wide)
    and
    `contact-sheet.jpg` (16 pictures). While such a file is being made, the status is 202. Range
    requests and conditional requests are supported
    (RFC 9110). If the storage supports signed URLs, a GET is redirected to one. Follow the redirect
    immediately, because the URL expires, and without the API key.

    Args:
        id (UUID):
        name (str):
        range_ (str | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Any | Error | File | GetMediaResponse202]
    """

    kwargs = _get_kwargs(
        id=id,
        name=name,
        range_=range_,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    id: UUID,
    name: str,
    *,
    client: AuthenticatedClient,
    range_: str | Unset = UNSET,
) -> Any | Error | File | GetMediaResponse202 | None:
    """Get a media file

     Returns a file of the manifest, or one that is made from the recording when it is first requested
    and kept with it:
    `recording.mp3`, `recording.wav`, `recording.webm`, and of a video `thumbnail.jpg` (640 pixels wide)
    and
    `contact-sheet.jpg` (16 pictures). While such a file is being made, the status is 202. Range
    requests and conditional requests are supported
    (RFC 9110). If the storage supports signed URLs, a GET is redirected to one. Follow the redirect
    immediately, because the URL expires, and without the API key.

    Args:
        id (UUID):
        name (str):
        range_ (str | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Any | Error | File | GetMediaResponse202
    """

    return (
        await asyncio_detailed(
            id=id,
            name=name,
            client=client,
            range_=range_,
        )
    ).parsed
