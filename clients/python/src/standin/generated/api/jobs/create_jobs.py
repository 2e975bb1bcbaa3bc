from http import HTTPStatus
from typing import Any

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.error import Error
from ...models.job_batch import JobBatch
from ...models.job_batch_result import JobBatchResult
from ...types import UNSET, Response, Unset


def _get_kwargs(
    *,
    body: JobBatch,
    idempotency_key: str | Unset = UNSET,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    if not isinstance(idempotency_key, Unset):
        headers["Idempotency-Key"] = idempotency_key

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/api/v1/jobs/batch",
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Error | JobBatchResult | None:
    if response.status_code == 200:
        response_200 = JobBatchResult.from_dict(response.json())

        return response_200

    if response.status_code == 400:
        response_400 = Error.from_dict(response.json())

        return response_400

    if response.status_code == 401:
        response_401 = Error.from_dict(response.json())

        return response_401

    if response.status_code == 403:
        response_403 = Error.from_dict(response.json())

        return response_403

    if response.status_code == 408:
        response_408 = Error.from_dict(response.json())

        return response_408

    if response.status_code == 409:
        response_409 = Error.from_dict(response.json())

        return response_409

    if response.status_code == 413:
        response_413 = Error.from_dict(response.json())

        return response_413

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
) -> Response[Error | JobBatchResult]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient,
    body: JobBatch,
    idempotency_key: str | Unset = UNSET,
) -> Response[Error | JobBatchResult]:
    """Dispatch several bots

     Creates up to 100 jobs. The response has a result for each, as `createJob` returns it, in the same
    order. An
    invalid job does not affect the others, and a known `externalId` returns the existing job. The
    status is 400
    only if the list itself is invalid. A batch may take 20 seconds: the jobs that are left have the
    status 408, and
    you can send the same batch again.

    Args:
        idempotency_key (str | Unset):
        body (JobBatch): Requests for several jobs.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | JobBatchResult]
    """

    kwargs = _get_kwargs(
        body=body,
        idempotency_key=idempotency_key,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    *,
    client: AuthenticatedClient,
    body: JobBatch,
    idempotency_key: str | Unset = UNSET,
) -> Error | JobBatchResult | None:
    """Dispatch several bots

     Creates up to 100 jobs. The response has a result for each, as `createJob` returns it, in the same
    order. An
    invalid job does not affect the others, and a known `externalId` returns the existing job. The
    status is 400
    only if the list itself is invalid. A batch may take 20 seconds: the jobs that are left have the
    status 408, and
    you can send the same batch again.

    Args:
        idempotency_key (str | Unset):
        body (JobBatch): Requests for several jobs.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | JobBatchResult
    """

    return sync_detailed(
        client=client,
        body=body,
        idempotency_key=idempotency_key,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient,
    body: JobBatch,
    idempotency_key: str | Unset = UNSET,
) -> Response[Error | JobBatchResult]:
    """Dispatch several bots

     Creates up to 100 jobs. The response has a result for each, as `createJob` returns it, in the same
    order. An
    invalid job does not affect the others, and a known `externalId` returns the existing job. The
    status is 400
    only if the list itself is invalid. A batch may take 20 seconds: the jobs that are left have the
    status 408, and
    you can send the same batch again.

    Args:
        idempotency_key (str | Unset):
        body (JobBatch): Requests for several jobs.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | JobBatchResult]
    """

    kwargs = _get_kwargs(
        body=body,
        idempotency_key=idempotency_key,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient,
    body: JobBatch,
    idempotency_key: str | Unset = UNSET,
) -> Error | JobBatchResult | None:
    """Dispatch several bots

     Creates up to 100 jobs. The response has a result for each, as `createJob` returns it, in the same
    order. An
    invalid job does not affect the others, and a known `externalId` returns the existing job. The
    status is 400
    only if the list itself is invalid. A batch may take 20 seconds: the jobs that are left have the
    status 408, and
    you can send the same batch again.

    Args:
        idempotency_key (str | Unset):
        body (JobBatch): Requests for several jobs.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | JobBatchResult
    """

    return (
        await asyncio_detailed(
            client=client,
            body=body,
            idempotency_key=idempotency_key,
        )
    ).parsed
