from http import HTTPStatus
from typing import Any
from urllib.parse import quote
from uuid import UUID

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.error import Error
from ...models.get_transcript_format import GetTranscriptFormat
from ...models.transcript import Transcript
from ...types import UNSET, Response, Unset


def _get_kwargs(
    id: UUID,
    *,
    format_: GetTranscriptFormat | Unset = UNSET,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    json_format_: str | Unset = UNSET
    if not isinstance(format_, Unset):
        json_format_ = format_.value

    params["format"] = json_format_

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/api/v1/jobs/{id}/transcript".format(
            id=quote(str(id), safe=""),
        ),
        "params": params,
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Error | Transcript | None:
    if response.status_code == 200:
        response_200 = Transcript.from_dict(response.json())

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

    if client.raise_on_unexpected_status:
        raise errors.UnexpectedStatus(response.status_code, response.content)
    else:
        return None


def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Error | Transcript]:
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
    format_: GetTranscriptFormat | Unset = UNSET,
) -> Response[Error | Transcript]:
    """Get the transcript

     Returns what was said in the meeting: the transcript if the service has one, else the captions of
    the meeting platform. The status is 404 while the job has no `manifestUri`, and as long as there is
    neither; the message says why a transcription is retried or has failed. `format` selects the format,
    or else the Accept header; the
    default is JSON.

    Args:
        id (UUID):
        format_ (GetTranscriptFormat | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | Transcript]
    """

    kwargs = _get_kwargs(
        id=id,
        format_=format_,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    id: UUID,
    *,
    client: AuthenticatedClient,
    format_: GetTranscriptFormat | Unset = UNSET,
) -> Error | Transcript | None:
    """Get the transcript

     Returns what was said in the meeting: the transcript if the service has one, else the captions of
    the meeting platform. The status is 404 while the job has no `manifestUri`, and as long as there is
    neither; the message says why a transcription is retried or has failed. `format` selects the format,
    or else the Accept header; the
    default is JSON.

    Args:
        id (UUID):
        format_ (GetTranscriptFormat | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | Transcript
    """

    return sync_detailed(
        id=id,
        client=client,
        format_=format_,
    ).parsed


async def asyncio_detailed(
    id: UUID,
    *,
    client: AuthenticatedClient,
    format_: GetTranscriptFormat | Unset = UNSET,
) -> Response[Error | Transcript]:
    """Get the transcript

     Returns what was said in the meeting: the transcript if the service has one, else the captions of
    the meeting platform. The status is 404 while the job has no `manifestUri`, and as long as there is
    neither; the message says why a transcription is retried or has failed. `format` selects the format,
    or else the Accept header; the
    default is JSON.

    Args:
        id (UUID):
        format_ (GetTranscriptFormat | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | Transcript]
    """

    kwargs = _get_kwargs(
        id=id,
        format_=format_,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    id: UUID,
    *,
    client: AuthenticatedClient,
    format_: GetTranscriptFormat | Unset = UNSET,
) -> Error | Transcript | None:
    """Get the transcript

     Returns what was said in the meeting: the transcript if the service has one, else the captions of
    the meeting platform. The status is 404 while the job has no `manifestUri`, and as long as there is
    neither; the message says why a transcription is retried or has failed. `format` selects the format,
    or else the Accept header; the
    default is JSON.

    Args:
        id (UUID):
        format_ (GetTranscriptFormat | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | Transcript
    """

    return (
        await asyncio_detailed(
            id=id,
            client=client,
            format_=format_,
        )
    ).parsed
