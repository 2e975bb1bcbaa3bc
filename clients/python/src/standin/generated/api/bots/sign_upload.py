from http import HTTPStatus
from typing import Any

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.direct_upload import DirectUpload
from ...models.error import Error
from ...models.signed_upload import SignedUpload
from ...types import Response


def _get_kwargs(
    *,
    body: DirectUpload,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/api/v1/ingest/sign",
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Error | SignedUpload | None:
    if response.status_code == 200:
        response_200 = SignedUpload.from_dict(response.json())

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
) -> Response[Error | SignedUpload]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient,
    body: DirectUpload,
) -> Response[Error | SignedUpload]:
    """Sign an upload to the object store

     Checks run in the same order as for `POST /api/v1/ingest`. A file that the object store can take
    from the bot itself
    gets a URL to which the bot sends it with PUT and the given headers, within a minute. The store
    refuses another size or
    content, and a name that it has. Without a URL in the response, and whenever the store refuses or
    cannot be reached, the
    bot uploads the file to the service.

    Args:
        body (DirectUpload): A file that a bot has to upload.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | SignedUpload]
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
    body: DirectUpload,
) -> Error | SignedUpload | None:
    """Sign an upload to the object store

     Checks run in the same order as for `POST /api/v1/ingest`. A file that the object store can take
    from the bot itself
    gets a URL to which the bot sends it with PUT and the given headers, within a minute. The store
    refuses another size or
    content, and a name that it has. Without a URL in the response, and whenever the store refuses or
    cannot be reached, the
    bot uploads the file to the service.

    Args:
        body (DirectUpload): A file that a bot has to upload.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | SignedUpload
    """

    return sync_detailed(
        client=client,
        body=body,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient,
    body: DirectUpload,
) -> Response[Error | SignedUpload]:
    """Sign an upload to the object store

     Checks run in the same order as for `POST /api/v1/ingest`. A file that the object store can take
    from the bot itself
    gets a URL to which the bot sends it with PUT and the given headers, within a minute. The store
    refuses another size or
    content, and a name that it has. Without a URL in the response, and whenever the store refuses or
    cannot be reached, the
    bot uploads the file to the service.

    Args:
        body (DirectUpload): A file that a bot has to upload.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | SignedUpload]
    """

    kwargs = _get_kwargs(
        body=body,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient,
    body: DirectUpload,
) -> Error | SignedUpload | None:
    """Sign an upload to the object store

     Checks run in the same order as for `POST /api/v1/ingest`. A file that the object store can take
    from the bot itself
    gets a URL to which the bot sends it with PUT and the given headers, within a minute. The store
    refuses another size or
    content, and a name that it has. Without a URL in the response, and whenever the store refuses or
    cannot be reached, the
    bot uploads the file to the service.

    Args:
        body (DirectUpload): A file that a bot has to upload.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | SignedUpload
    """

    return (
        await asyncio_detailed(
            client=client,
            body=body,
        )
    ).parsed
