from http import HTTPStatus
from typing import Any

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.error import Error
from ...models.ingest_event import IngestEvent
from ...models.ingest_result import IngestResult
from ...types import Response


def _get_kwargs(
    *,
    body: IngestEvent,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/api/v1/ingest",
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Error | IngestResult | None:
    if response.status_code == 200:
        response_200 = IngestResult.from_dict(response.json())

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
) -> Response[Error | IngestResult]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient,
    body: IngestEvent,
) -> Response[Error | IngestResult]:
    """Report an event of a bot

     The checks are, in this order: no bearer token, 401; a body that is not JSON, or a missing or
    malformed `jobId` or `attempt`, 400; a bearer token that is not the token of this attempt, 401;
    any other issue, or a job that does not exist, 400.

    An event that changes nothing also results in 200, with `applied: false` and the reason, so a
    bot can safely repeat an event.

    A bot that was launched before `joinAt` may report nothing until then. Its events result in 425,
    and it repeats them.

    Args:
        body (IngestEvent): An event of a bot. Events with the same job, attempt, kind and
            emittedAt are duplicates. Only
            the first one is applied.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | IngestResult]
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
    body: IngestEvent,
) -> Error | IngestResult | None:
    """Report an event of a bot

     The checks are, in this order: no bearer token, 401; a body that is not JSON, or a missing or
    malformed `jobId` or `attempt`, 400; a bearer token that is not the token of this attempt, 401;
    any other issue, or a job that does not exist, 400.

    An event that changes nothing also results in 200, with `applied: false` and the reason, so a
    bot can safely repeat an event.

    A bot that was launched before `joinAt` may report nothing until then. Its events result in 425,
    and it repeats them.

    Args:
        body (IngestEvent): An event of a bot. Events with the same job, attempt, kind and
            emittedAt are duplicates. Only
            the first one is applied.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | IngestResult
    """

    return sync_detailed(
        client=client,
        body=body,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient,
    body: IngestEvent,
) -> Response[Error | IngestResult]:
    """Report an event of a bot

     The checks are, in this order: no bearer token, 401; a body that is not JSON, or a missing or
    malformed `jobId` or `attempt`, 400; a bearer token that is not the token of this attempt, 401;
    any other issue, or a job that does not exist, 400.

    An event that changes nothing also results in 200, with `applied: false` and the reason, so a
    bot can safely repeat an event.

    A bot that was launched before `joinAt` may report nothing until then. Its events result in 425,
    and it repeats them.

    Args:
        body (IngestEvent): An event of a bot. Events with the same job, attempt, kind and
            emittedAt are duplicates. Only
            the first one is applied.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | IngestResult]
    """

    kwargs = _get_kwargs(
        body=body,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient,
    body: IngestEvent,
) -> Error | IngestResult | None:
    """Report an event of a bot

     The checks are, in this order: no bearer token, 401; a body that is not JSON, or a missing or
    malformed `jobId` or `attempt`, 400; a bearer token that is not the token of this attempt, 401;
    any other issue, or a job that does not exist, 400.

    An event that changes nothing also results in 200, with `applied: false` and the reason, so a
    bot can safely repeat an event.

    A bot that was launched before `joinAt` may report nothing until then. Its events result in 425,
    and it repeats them.

    Args:
        body (IngestEvent): An event of a bot. Events with the same job, attempt, kind and
            emittedAt are duplicates. Only
            the first one is applied.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | IngestResult
    """

    return (
        await asyncio_detailed(
            client=client,
            body=body,
        )
    ).parsed
