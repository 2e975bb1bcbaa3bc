import datetime
from http import HTTPStatus
from typing import Any

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.error import Error
from ...models.job_page import JobPage
from ...models.job_status import JobStatus
from ...models.list_jobs_expand_item import ListJobsExpandItem
from ...models.platform import Platform
from ...types import UNSET, Response, Unset


def _get_kwargs(
    *,
    cursor: str | Unset = UNSET,
    limit: int | Unset = 20,
    status: list[JobStatus] | Unset = UNSET,
    platform: Platform | Unset = UNSET,
    external_id: str | Unset = UNSET,
    created_from: datetime.datetime | Unset = UNSET,
    created_to: datetime.datetime | Unset = UNSET,
    created_after: datetime.datetime | Unset = UNSET,
    created_before: datetime.datetime | Unset = UNSET,
    metadata: list[str] | Unset = UNSET,
    expand: list[ListJobsExpandItem] | Unset = UNSET,
    join_from: datetime.datetime | Unset = UNSET,
    join_to: datetime.datetime | Unset = UNSET,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["cursor"] = cursor

    params["limit"] = limit

    json_status: list[str] | Unset = UNSET
    if not isinstance(status, Unset):
        json_status = []
        for status_item_data in status:
            status_item = status_item_data.value
            json_status.append(status_item)

    params["status"] = json_status

    json_platform: str | Unset = UNSET
    if not isinstance(platform, Unset):
        json_platform = platform.value

    params["platform"] = json_platform

    params["externalId"] = external_id

    json_created_from: str | Unset = UNSET
    if not isinstance(created_from, Unset):
        json_created_from = created_from.isoformat()
    params["createdFrom"] = json_created_from

    json_created_to: str | Unset = UNSET
    if not isinstance(created_to, Unset):
        json_created_to = created_to.isoformat()
    params["createdTo"] = json_created_to

    json_created_after: str | Unset = UNSET
    if not isinstance(created_after, Unset):
        json_created_after = created_after.isoformat()
    params["createdAfter"] = json_created_after

    json_created_before: str | Unset = UNSET
    if not isinstance(created_before, Unset):
        json_created_before = created_before.isoformat()
    params["createdBefore"] = json_created_before

    json_metadata: list[str] | Unset = UNSET
    if not isinstance(metadata, Unset):
        json_metadata = metadata

    params["metadata"] = json_metadata

    json_expand: list[str] | Unset = UNSET
    if not isinstance(expand, Unset):
        json_expand = []
        for expand_item_data in expand:
            expand_item = expand_item_data.value
            json_expand.append(expand_item)

    params["expand"] = json_expand

    json_join_from: str | Unset = UNSET
    if not isinstance(join_from, Unset):
        json_join_from = join_from.isoformat()
    params["joinFrom"] = json_join_from

    json_join_to: str | Unset = UNSET
    if not isinstance(join_to, Unset):
        json_join_to = join_to.isoformat()
    params["joinTo"] = json_join_to

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/api/v1/jobs",
        "params": params,
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Error | JobPage | None:
    if response.status_code == 200:
        response_200 = JobPage.from_dict(response.json())

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


def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Error | JobPage]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient,
    cursor: str | Unset = UNSET,
    limit: int | Unset = 20,
    status: list[JobStatus] | Unset = UNSET,
    platform: Platform | Unset = UNSET,
    external_id: str | Unset = UNSET,
    created_from: datetime.datetime | Unset = UNSET,
    created_to: datetime.datetime | Unset = UNSET,
    created_after: datetime.datetime | Unset = UNSET,
    created_before: datetime.datetime | Unset = UNSET,
    metadata: list[str] | Unset = UNSET,
    expand: list[ListJobsExpandItem] | Unset = UNSET,
    join_from: datetime.datetime | Unset = UNSET,
    join_to: datetime.datetime | Unset = UNSET,
) -> Response[Error | JobPage]:
    """List jobs

     The jobs of your team in this key's mode (live or test), newest first. Jobs created
    while you read pages do not shift them.

    Args:
        cursor (str | Unset):
        limit (int | Unset):  Default: 20.
        status (list[JobStatus] | Unset):
        platform (Platform | Unset): The meeting platform: `meet` is Google Meet, `teams` is
            Microsoft Teams, `zoom-web` is the Zoom
            web client, and `zoom-sdk` is Zoom's Realtime Media Streams. If the service receives no
            streams, `zoom-sdk` fails at
            dispatch.
        external_id (str | Unset):
        created_from (datetime.datetime | Unset):
        created_to (datetime.datetime | Unset):
        created_after (datetime.datetime | Unset):
        created_before (datetime.datetime | Unset):
        metadata (list[str] | Unset):
        expand (list[ListJobsExpandItem] | Unset):
        join_from (datetime.datetime | Unset):
        join_to (datetime.datetime | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | JobPage]
    """

    kwargs = _get_kwargs(
        cursor=cursor,
        limit=limit,
        status=status,
        platform=platform,
        external_id=external_id,
        created_from=created_from,
        created_to=created_to,
        created_after=created_after,
        created_before=created_before,
        metadata=metadata,
        expand=expand,
        join_from=join_from,
        join_to=join_to,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    *,
    client: AuthenticatedClient,
    cursor: str | Unset = UNSET,
    limit: int | Unset = 20,
    status: list[JobStatus] | Unset = UNSET,
    platform: Platform | Unset = UNSET,
    external_id: str | Unset = UNSET,
    created_from: datetime.datetime | Unset = UNSET,
    created_to: datetime.datetime | Unset = UNSET,
    created_after: datetime.datetime | Unset = UNSET,
    created_before: datetime.datetime | Unset = UNSET,
    metadata: list[str] | Unset = UNSET,
    expand: list[ListJobsExpandItem] | Unset = UNSET,
    join_from: datetime.datetime | Unset = UNSET,
    join_to: datetime.datetime | Unset = UNSET,
) -> Error | JobPage | None:
    """List jobs

     The jobs of your team in this key's mode (live or test), newest first. Jobs created
    while you read pages do not shift them.

    Args:
        cursor (str | Unset):
        limit (int | Unset):  Default: 20.
        status (list[JobStatus] | Unset):
        platform (Platform | Unset): The meeting platform: `meet` is Google Meet, `teams` is
            Microsoft Teams, `zoom-web` is the Zoom
            web client, and `zoom-sdk` is Zoom's Realtime Media Streams. If the service receives no
            streams, `zoom-sdk` fails at
            dispatch.
        external_id (str | Unset):
        created_from (datetime.datetime | Unset):
        created_to (datetime.datetime | Unset):
        created_after (datetime.datetime | Unset):
        created_before (datetime.datetime | Unset):
        metadata (list[str] | Unset):
        expand (list[ListJobsExpandItem] | Unset):
        join_from (datetime.datetime | Unset):
        join_to (datetime.datetime | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | JobPage
    """

    return sync_detailed(
        client=client,
        cursor=cursor,
        limit=limit,
        status=status,
        platform=platform,
        external_id=external_id,
        created_from=created_from,
        created_to=created_to,
        created_after=created_after,
        created_before=created_before,
        metadata=metadata,
        expand=expand,
        join_from=join_from,
        join_to=join_to,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient,
    cursor: str | Unset = UNSET,
    limit: int | Unset = 20,
    status: list[JobStatus] | Unset = UNSET,
    platform: Platform | Unset = UNSET,
    external_id: str | Unset = UNSET,
    created_from: datetime.datetime | Unset = UNSET,
    created_to: datetime.datetime | Unset = UNSET,
    created_after: datetime.datetime | Unset = UNSET,
    created_before: datetime.datetime | Unset = UNSET,
    metadata: list[str] | Unset = UNSET,
    expand: list[ListJobsExpandItem] | Unset = UNSET,
    join_from: datetime.datetime | Unset = UNSET,
    join_to: datetime.datetime | Unset = UNSET,
) -> Response[Error | JobPage]:
    """List jobs

     The jobs of your team in this key's mode (live or test), newest first. Jobs created
    while you read pages do not shift them.

    Args:
        cursor (str | Unset):
        limit (int | Unset):  Default: 20.
        status (list[JobStatus] | Unset):
        platform (Platform | Unset): The meeting platform: `meet` is Google Meet, `teams` is
            Microsoft Teams, `zoom-web` is the Zoom
            web client, and `zoom-sdk` is Zoom's Realtime Media Streams. If the service receives no
            streams, `zoom-sdk` fails at
            dispatch.
        external_id (str | Unset):
        created_from (datetime.datetime | Unset):
        created_to (datetime.datetime | Unset):
        created_after (datetime.datetime | Unset):
        created_before (datetime.datetime | Unset):
        metadata (list[str] | Unset):
        expand (list[ListJobsExpandItem] | Unset):
        join_from (datetime.datetime | Unset):
        join_to (datetime.datetime | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | JobPage]
    """

    kwargs = _get_kwargs(
        cursor=cursor,
        limit=limit,
        status=status,
        platform=platform,
        external_id=external_id,
        created_from=created_from,
        created_to=created_to,
        created_after=created_after,
        created_before=created_before,
        metadata=metadata,
        expand=expand,
        join_from=join_from,
        join_to=join_to,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient,
    cursor: str | Unset = UNSET,
    limit: int | Unset = 20,
    status: list[JobStatus] | Unset = UNSET,
    platform: Platform | Unset = UNSET,
    external_id: str | Unset = UNSET,
    created_from: datetime.datetime | Unset = UNSET,
    created_to: datetime.datetime | Unset = UNSET,
    created_after: datetime.datetime | Unset = UNSET,
    created_before: datetime.datetime | Unset = UNSET,
    metadata: list[str] | Unset = UNSET,
    expand: list[ListJobsExpandItem] | Unset = UNSET,
    join_from: datetime.datetime | Unset = UNSET,
    join_to: datetime.datetime | Unset = UNSET,
) -> Error | JobPage | None:
    """List jobs

     The jobs of your team in this key's mode (live or test), newest first. Jobs created
    while you read pages do not shift them.

    Args:
        cursor (str | Unset):
        limit (int | Unset):  Default: 20.
        status (list[JobStatus] | Unset):
        platform (Platform | Unset): The meeting platform: `meet` is Google Meet, `teams` is
            Microsoft Teams, `zoom-web` is the Zoom
            web client, and `zoom-sdk` is Zoom's Realtime Media Streams. If the service receives no
            streams, `zoom-sdk` fails at
            dispatch.
        external_id (str | Unset):
        created_from (datetime.datetime | Unset):
        created_to (datetime.datetime | Unset):
        created_after (datetime.datetime | Unset):
        created_before (datetime.datetime | Unset):
        metadata (list[str] | Unset):
        expand (list[ListJobsExpandItem] | Unset):
        join_from (datetime.datetime | Unset):
        join_to (datetime.datetime | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | JobPage
    """

    return (
        await asyncio_detailed(
            client=client,
            cursor=cursor,
            limit=limit,
            status=status,
            platform=platform,
            external_id=external_id,
            created_from=created_from,
            created_to=created_to,
            created_after=created_after,
            created_before=created_before,
            metadata=metadata,
            expand=expand,
            join_from=join_from,
            join_to=join_to,
        )
    ).parsed
