from http import HTTPStatus
from typing import Any

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.readiness import Readiness
from ...models.readiness_exclude_item import ReadinessExcludeItem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    *,
    exclude: list[ReadinessExcludeItem] | Unset = UNSET,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    json_exclude: list[str] | Unset = UNSET
    if not isinstance(exclude, Unset):
        json_exclude = []
        for exclude_item_data in exclude:
            exclude_item = exclude_item_data.value
            json_exclude.append(exclude_item)

    params["exclude"] = json_exclude

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/readyz",
        "params": params,
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Readiness | None:
    if response.status_code == 200:
        response_200 = Readiness.from_dict(response.json())

        return response_200

    if response.status_code == 503:
        response_503 = Readiness.from_dict(response.json())

        return response_503

    if client.raise_on_unexpected_status:
        raise errors.UnexpectedStatus(response.status_code, response.content)
    else:
        return None


def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Readiness]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient | Client,
    exclude: list[ReadinessExcludeItem] | Unset = UNSET,
) -> Response[Readiness]:
    """Check whether this node can do its work

     Checks the database, its schema, the storage, and the launcher of bots, every 30 seconds and every 5
    seconds while one fails. The response has the latest results; the log and the operator page of the
    dashboard say why a check fails. As a readiness probe use `/readyz?exclude=storage,launcher`: bots
    keep their recordings while the storage is unavailable, and have to reach the service meanwhile.

    Args:
        exclude (list[ReadinessExcludeItem] | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Readiness]
    """

    kwargs = _get_kwargs(
        exclude=exclude,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    *,
    client: AuthenticatedClient | Client,
    exclude: list[ReadinessExcludeItem] | Unset = UNSET,
) -> Readiness | None:
    """Check whether this node can do its work

     Checks the database, its schema, the storage, and the launcher of bots, every 30 seconds and every 5
    seconds while one fails. The response has the latest results; the log and the operator page of the
    dashboard say why a check fails. As a readiness probe use `/readyz?exclude=storage,launcher`: bots
    keep their recordings while the storage is unavailable, and have to reach the service meanwhile.

    Args:
        exclude (list[ReadinessExcludeItem] | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Readiness
    """

    return sync_detailed(
        client=client,
        exclude=exclude,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient | Client,
    exclude: list[ReadinessExcludeItem] | Unset = UNSET,
) -> Response[Readiness]:
    """Check whether this node can do its work

     Checks the database, its schema, the storage, and the launcher of bots, every 30 seconds and every 5
    seconds while one fails. The response has the latest results; the log and the operator page of the
    dashboard say why a check fails. As a readiness probe use `/readyz?exclude=storage,launcher`: bots
    keep their recordings while the storage is unavailable, and have to reach the service meanwhile.

    Args:
        exclude (list[ReadinessExcludeItem] | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Readiness]
    """

    kwargs = _get_kwargs(
        exclude=exclude,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient | Client,
    exclude: list[ReadinessExcludeItem] | Unset = UNSET,
) -> Readiness | None:
    """Check whether this node can do its work

     Checks the database, its schema, the storage, and the launcher of bots, every 30 seconds and every 5
    seconds while one fails. The response has the latest results; the log and the operator page of the
    dashboard say why a check fails. As a readiness probe use `/readyz?exclude=storage,launcher`: bots
    keep their recordings while the storage is unavailable, and have to reach the service meanwhile.

    Args:
        exclude (list[ReadinessExcludeItem] | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Readiness
    """

    return (
        await asyncio_detailed(
            client=client,
            exclude=exclude,
        )
    ).parsed
