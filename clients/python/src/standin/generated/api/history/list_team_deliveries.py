import datetime
from http import HTTPStatus
from typing import Any
from uuid import UUID

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.delivery_page import DeliveryPage
from ...models.error import Error
from ...models.list_team_deliveries_state import ListTeamDeliveriesState
from ...types import UNSET, Response, Unset


def _get_kwargs(
    *,
    event: str | Unset = UNSET,
    state: ListTeamDeliveriesState | Unset = UNSET,
    endpoint_id: UUID | Unset = UNSET,
    job_id: UUID | Unset = UNSET,
    from_: datetime.datetime | Unset = UNSET,
    to: datetime.datetime | Unset = UNSET,
    cursor: str | Unset = UNSET,
    limit: int | Unset = 20,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["event"] = event

    json_state: str | Unset = UNSET
    if not isinstance(state, Unset):
        json_state = state.value

    params["state"] = json_state

    json_endpoint_id: str | Unset = UNSET
    if not isinstance(endpoint_id, Unset):
        json_endpoint_id = str(endpoint_id)
    params["endpointId"] = json_endpoint_id

    json_job_id: str | Unset = UNSET
    if not isinstance(job_id, Unset):
        json_job_id = str(job_id)
    params["jobId"] = json_job_id

    json_from_: str | Unset = UNSET
    if not isinstance(from_, Unset):
        json_from_ = from_.isoformat()
    params["from"] = json_from_

    json_to: str | Unset = UNSET
    if not isinstance(to, Unset):
        json_to = to.isoformat()
    params["to"] = json_to

    params["cursor"] = cursor

    params["limit"] = limit

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/api/v1/deliveries",
        "params": params,
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> DeliveryPage | Error | None:
    if response.status_code == 200:
        response_200 = DeliveryPage.from_dict(response.json())

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


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[DeliveryPage | Error]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient,
    event: str | Unset = UNSET,
    state: ListTeamDeliveriesState | Unset = UNSET,
    endpoint_id: UUID | Unset = UNSET,
    job_id: UUID | Unset = UNSET,
    from_: datetime.datetime | Unset = UNSET,
    to: datetime.datetime | Unset = UNSET,
    cursor: str | Unset = UNSET,
    limit: int | Unset = 20,
) -> Response[DeliveryPage | Error]:
    """List webhook deliveries

     All webhook deliveries of your team that match all given filters, newest event first, with their
    attempts: of jobs
    created with keys of this key's mode and, for live keys, of calendars.

    Args:
        event (str | Unset):
        state (ListTeamDeliveriesState | Unset):
        endpoint_id (UUID | Unset):
        job_id (UUID | Unset):
        from_ (datetime.datetime | Unset):
        to (datetime.datetime | Unset):
        cursor (str | Unset):
        limit (int | Unset):  Default: 20.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[DeliveryPage | Error]
    """

    kwargs = _get_kwargs(
        event=event,
        state=state,
        endpoint_id=endpoint_id,
        job_id=job_id,
        from_=from_,
        to=to,
        cursor=cursor,
        limit=limit,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    *,
    client: AuthenticatedClient,
    event: str | Unset = UNSET,
    state: ListTeamDeliveriesState | Unset = UNSET,
    endpoint_id: UUID | Unset = UNSET,
    job_id: UUID | Unset = UNSET,
    from_: datetime.datetime | Unset = UNSET,
    to: datetime.datetime | Unset = UNSET,
    cursor: str | Unset = UNSET,
    limit: int | Unset = 20,
) -> DeliveryPage | Error | None:
    """List webhook deliveries

     All webhook deliveries of your team that match all given filters, newest event first, with their
    attempts: of jobs
    created with keys of this key's mode and, for live keys, of calendars.

    Args:
        event (str | Unset):
        state (ListTeamDeliveriesState | Unset):
        endpoint_id (UUID | Unset):
        job_id (UUID | Unset):
        from_ (datetime.datetime | Unset):
        to (datetime.datetime | Unset):
        cursor (str | Unset):
        limit (int | Unset):  Default: 20.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        DeliveryPage | Error
    """

    return sync_detailed(
        client=client,
        event=event,
        state=state,
        endpoint_id=endpoint_id,
        job_id=job_id,
        from_=from_,
        to=to,
        cursor=cursor,
        limit=limit,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient,
    event: str | Unset = UNSET,
    state: ListTeamDeliveriesState | Unset = UNSET,
    endpoint_id: UUID | Unset = UNSET,
    job_id: UUID | Unset = UNSET,
    from_: datetime.datetime | Unset = UNSET,
    to: datetime.datetime | Unset = UNSET,
    cursor: str | Unset = UNSET,
    limit: int | Unset = 20,
) -> Response[DeliveryPage | Error]:
    """List webhook deliveries

     All webhook deliveries of your team that match all given filters, newest event first, with their
    attempts: of jobs
    created with keys of this key's mode and, for live keys, of calendars.

    Args:
        event (str | Unset):
        state (ListTeamDeliveriesState | Unset):
        endpoint_id (UUID | Unset):
        job_id (UUID | Unset):
        from_ (datetime.datetime | Unset):
        to (datetime.datetime | Unset):
        cursor (str | Unset):
        limit (int | Unset):  Default: 20.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[DeliveryPage | Error]
    """

    kwargs = _get_kwargs(
        event=event,
        state=state,
        endpoint_id=endpoint_id,
        job_id=job_id,
        from_=from_,
        to=to,
        cursor=cursor,
        limit=limit,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient,
    event: str | Unset = UNSET,
    state: ListTeamDeliveriesState | Unset = UNSET,
    endpoint_id: UUID | Unset = UNSET,
    job_id: UUID | Unset = UNSET,
    from_: datetime.datetime | Unset = UNSET,
    to: datetime.datetime | Unset = UNSET,
    cursor: str | Unset = UNSET,
    limit: int | Unset = 20,
) -> DeliveryPage | Error | None:
    """List webhook deliveries

     All webhook deliveries of your team that match all given filters, newest event first, with their
    attempts: of jobs
    created with keys of this key's mode and, for live keys, of calendars.

    Args:
        event (str | Unset):
        state (ListTeamDeliveriesState | Unset):
        endpoint_id (UUID | Unset):
        job_id (UUID | Unset):
        from_ (datetime.datetime | Unset):
        to (datetime.datetime | Unset):
        cursor (str | Unset):
        limit (int | Unset):  Default: 20.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        DeliveryPage | Error
    """

    return (
        await asyncio_detailed(
            client=client,
            event=event,
            state=state,
            endpoint_id=endpoint_id,
            job_id=job_id,
            from_=from_,
            to=to,
            cursor=cursor,
            limit=limit,
        )
    ).parsed
