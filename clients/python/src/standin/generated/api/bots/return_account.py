from http import HTTPStatus
from typing import Any
from urllib.parse import quote
from uuid import UUID

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.error import Error
from ...models.upload_response import UploadResponse
from ...types import File, Response


def _get_kwargs(
    job_id: UUID,
    attempt: int,
    *,
    body: File,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    _kwargs: dict[str, Any] = {
        "method": "put",
        "url": "/api/v1/ingest/account/{job_id}/{attempt}".format(
            job_id=quote(str(job_id), safe=""),
            attempt=quote(str(attempt), safe=""),
        ),
    }

    _kwargs["content"] = body.payload

    headers["Content-Type"] = "application/octet-stream"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Error | UploadResponse | None:
    if response.status_code == 200:
        response_200 = UploadResponse.from_dict(response.json())

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

    if response.status_code == 500:
        response_500 = Error.from_dict(response.json())

        return response_500

    if client.raise_on_unexpected_status:
        raise errors.UnexpectedStatus(response.status_code, response.content)
    else:
        return None


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[Error | UploadResponse]:
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
    body: File,
) -> Response[Error | UploadResponse]:
    """Return an account

     Returns the account with the cookies and the browser profile after the meeting. An empty object
    changes nothing in it.

    Args:
        job_id (UUID):
        attempt (int):
        body (File):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | UploadResponse]
    """

    kwargs = _get_kwargs(
        job_id=job_id,
        attempt=attempt,
        body=body,
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
    body: File,
) -> Error | UploadResponse | None:
    """Return an account

     Returns the account with the cookies and the browser profile after the meeting. An empty object
    changes nothing in it.

    Args:
        job_id (UUID):
        attempt (int):
        body (File):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | UploadResponse
    """

    return sync_detailed(
        job_id=job_id,
        attempt=attempt,
        client=client,
        body=body,
    ).parsed


async def asyncio_detailed(
    job_id: UUID,
    attempt: int,
    *,
    client: AuthenticatedClient,
    body: File,
) -> Response[Error | UploadResponse]:
    """Return an account

     Returns the account with the cookies and the browser profile after the meeting. An empty object
    changes nothing in it.

    Args:
        job_id (UUID):
        attempt (int):
        body (File):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | UploadResponse]
    """

    kwargs = _get_kwargs(
        job_id=job_id,
        attempt=attempt,
        body=body,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    job_id: UUID,
    attempt: int,
    *,
    client: AuthenticatedClient,
    body: File,
) -> Error | UploadResponse | None:
    """Return an account

     Returns the account with the cookies and the browser profile after the meeting. An empty object
    changes nothing in it.

    Args:
        job_id (UUID):
        attempt (int):
        body (File):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | UploadResponse
    """

    return (
        await asyncio_detailed(
            job_id=job_id,
            attempt=attempt,
            client=client,
            body=body,
        )
    ).parsed
