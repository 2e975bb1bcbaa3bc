import datetime
from http import HTTPStatus
from typing import Any

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.error import Error
from ...models.text_matches import TextMatches
from ...types import UNSET, Response, Unset


def _get_kwargs(
    *,
    q: str,
    speaker: str | Unset = UNSET,
    created_from: datetime.datetime | Unset = UNSET,
    created_to: datetime.datetime | Unset = UNSET,
    limit: int | Unset = 50,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["q"] = q

    params["speaker"] = speaker

    json_created_from: str | Unset = UNSET
    if not isinstance(created_from, Unset):
        json_created_from = created_from.isoformat()
    params["createdFrom"] = json_created_from

    json_created_to: str | Unset = UNSET
    if not isinstance(created_to, Unset):
        json_created_to = created_to.isoformat()
    params["createdTo"] = json_created_to

    params["limit"] = limit

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/api/v1/search",
        "params": params,
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Error | TextMatches | None:
    if response.status_code == 200:
        response_200 = TextMatches.from_dict(response.json())

        return response_200

    if response.status_code == 400:
        response_400 = Error.from_dict(response.json())

        return response_400

    if response.status_code == 401:
        response_401 = Error.from_dict(response.json())

        return response_401

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


def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Error | TextMatches]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient,
    q: str,
    speaker: str | Unset = UNSET,
    created_from: datetime.datetime | Unset = UNSET,
    created_to: datetime.datetime | Unset = UNSET,
    limit: int | Unset = 50,
) -> Response[Error | TextMatches]:
    """Search transcripts and chats

     Searches what was said and written in your team's meetings in this key's mode (live or test) whose
    recordings
    are complete: segments of transcripts, captions and chat messages that contain all words of `q`, in
    any case,
    or words that begin with them, if they have three letters. Matches of the newest jobs come first.

    Args:
        q (str):
        speaker (str | Unset):
        created_from (datetime.datetime | Unset):
        created_to (datetime.datetime | Unset):
        limit (int | Unset):  Default: 50.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | TextMatches]
    """

    kwargs = _get_kwargs(
        q=q,
        speaker=speaker,
        created_from=created_from,
        created_to=created_to,
        limit=limit,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    *,
    client: AuthenticatedClient,
    q: str,
    speaker: str | Unset = UNSET,
    created_from: datetime.datetime | Unset = UNSET,
    created_to: datetime.datetime | Unset = UNSET,
    limit: int | Unset = 50,
) -> Error | TextMatches | None:
    """Search transcripts and chats

     Searches what was said and written in your team's meetings in this key's mode (live or test) whose
    recordings
    are complete: segments of transcripts, captions and chat messages that contain all words of `q`, in
    any case,
    or words that begin with them, if they have three letters. Matches of the newest jobs come first.

    Args:
        q (str):
        speaker (str | Unset):
        created_from (datetime.datetime | Unset):
        created_to (datetime.datetime | Unset):
        limit (int | Unset):  Default: 50.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | TextMatches
    """

    return sync_detailed(
        client=client,
        q=q,
        speaker=speaker,
        created_from=created_from,
        created_to=created_to,
        limit=limit,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient,
    q: str,
    speaker: str | Unset = UNSET,
    created_from: datetime.datetime | Unset = UNSET,
    created_to: datetime.datetime | Unset = UNSET,
    limit: int | Unset = 50,
) -> Response[Error | TextMatches]:
    """Search transcripts and chats

     Searches what was said and written in your team's meetings in this key's mode (live or test) whose
    recordings
    are complete: segments of transcripts, captions and chat messages that contain all words of `q`, in
    any case,
    or words that begin with them, if they have three letters. Matches of the newest jobs come first.

    Args:
        q (str):
        speaker (str | Unset):
        created_from (datetime.datetime | Unset):
        created_to (datetime.datetime | Unset):
        limit (int | Unset):  Default: 50.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | TextMatches]
    """

    kwargs = _get_kwargs(
        q=q,
        speaker=speaker,
        created_from=created_from,
        created_to=created_to,
        limit=limit,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient,
    q: str,
    speaker: str | Unset = UNSET,
    created_from: datetime.datetime | Unset = UNSET,
    created_to: datetime.datetime | Unset = UNSET,
    limit: int | Unset = 50,
) -> Error | TextMatches | None:
    """Search transcripts and chats

     Searches what was said and written in your team's meetings in this key's mode (live or test) whose
    recordings
    are complete: segments of transcripts, captions and chat messages that contain all words of `q`, in
    any case,
    or words that begin with them, if they have three letters. Matches of the newest jobs come first.

    Args:
        q (str):
        speaker (str | Unset):
        created_from (datetime.datetime | Unset):
        created_to (datetime.datetime | Unset):
        limit (int | Unset):  Default: 50.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | TextMatches
    """

    return (
        await asyncio_detailed(
            client=client,
            q=q,
            speaker=speaker,
            created_from=created_from,
            created_to=created_to,
            limit=limit,
        )
    ).parsed
