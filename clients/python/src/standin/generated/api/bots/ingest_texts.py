from http import HTTPStatus
from typing import Any

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.error import Error
from ...models.ingest_texts import IngestTexts
from ...models.ingest_texts_result import IngestTextsResult
from ...types import Response


def _get_kwargs(
    *,
    body: IngestTexts,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/api/v1/ingest/texts",
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Error | IngestTextsResult | None:
    if response.status_code == 200:
        response_200 = IngestTextsResult.from_dict(response.json())

        return response_200

    if response.status_code == 400:
        response_400 = Error.from_dict(response.json())

        return response_400

    if response.status_code == 401:
        response_401 = Error.from_dict(response.json())

        return response_401

    if response.status_code == 408:
        response_408 = Error.from_dict(response.json())

        return response_408

    if response.status_code == 413:
        response_413 = Error.from_dict(response.json())

        return response_413

    if response.status_code == 425:
        response_425 = Error.from_dict(response.json())

        return response_425

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
) -> Response[Error | IngestTextsResult]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient,
    body: IngestTexts,
) -> Response[Error | IngestTextsResult]:
    """Report chat messages and captions

     Checks run in the same order as for `POST /api/v1/ingest`.
    A text with the `id` and `kind` of an
    earlier one of the same attempt replaces it, so a bot corrects captions and repeats requests
    safely. The texts are stored together or not at all.

    The texts of a bot of an earlier attempt, and texts that arrive after the recording was
    finalized or deleted, are not stored. The response gives the reason.

    Args:
        body (IngestTexts): Chat messages and captions that a bot read in the meeting, in the
            order of their changes. The bots of a job
            may report 100,000 texts, counting corrections, with 32 MiB of text and authors in all.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | IngestTextsResult]
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
    body: IngestTexts,
) -> Error | IngestTextsResult | None:
    """Report chat messages and captions

     Checks run in the same order as for `POST /api/v1/ingest`.
    A text with the `id` and `kind` of an
    earlier one of the same attempt replaces it, so a bot corrects captions and repeats requests
    safely. The texts are stored together or not at all.

    The texts of a bot of an earlier attempt, and texts that arrive after the recording was
    finalized or deleted, are not stored. The response gives the reason.

    Args:
        body (IngestTexts): Chat messages and captions that a bot read in the meeting, in the
            order of their changes. The bots of a job
            may report 100,000 texts, counting corrections, with 32 MiB of text and authors in all.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | IngestTextsResult
    """

    return sync_detailed(
        client=client,
        body=body,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient,
    body: IngestTexts,
) -> Response[Error | IngestTextsResult]:
    """Report chat messages and captions

     Checks run in the same order as for `POST /api/v1/ingest`.
    A text with the `id` and `kind` of an
    earlier one of the same attempt replaces it, so a bot corrects captions and repeats requests
    safely. The texts are stored together or not at all.

    The texts of a bot of an earlier attempt, and texts that arrive after the recording was
    finalized or deleted, are not stored. The response gives the reason.

    Args:
        body (IngestTexts): Chat messages and captions that a bot read in the meeting, in the
            order of their changes. The bots of a job
            may report 100,000 texts, counting corrections, with 32 MiB of text and authors in all.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | IngestTextsResult]
    """

    kwargs = _get_kwargs(
        body=body,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient,
    body: IngestTexts,
) -> Error | IngestTextsResult | None:
    """Report chat messages and captions

     Checks run in the same order as for `POST /api/v1/ingest`.
    A text with the `id` and `kind` of an
    earlier one of the same attempt replaces it, so a bot corrects captions and repeats requests
    safely. The texts are stored together or not at all.

    The texts of a bot of an earlier attempt, and texts that arrive after the recording was
    finalized or deleted, are not stored. The response gives the reason.

    Args:
        body (IngestTexts): Chat messages and captions that a bot read in the meeting, in the
            order of their changes. The bots of a job
            may report 100,000 texts, counting corrections, with 32 MiB of text and authors in all.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | IngestTextsResult
    """

    return (
        await asyncio_detailed(
            client=client,
            body=body,
        )
    ).parsed
