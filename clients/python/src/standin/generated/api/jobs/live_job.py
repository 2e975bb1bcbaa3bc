from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote
from uuid import UUID

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.error import Error
from ...models.live_event import LiveEvent
from ...models.live_job_follow import LiveJobFollow
from ...types import UNSET, Response, Unset


def _get_kwargs(
    id: UUID,
    *,
    follow: LiveJobFollow | Unset = UNSET,
    last_event_id: str | Unset = UNSET,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    if not isinstance(last_event_id, Unset):
        headers["Last-Event-ID"] = last_event_id

    params: dict[str, Any] = {}

    json_follow: str | Unset = UNSET
    if not isinstance(follow, Unset):
        json_follow = follow.value

    params["follow"] = json_follow

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/api/v1/jobs/{id}/live".format(
            id=quote(str(id), safe=""),
        ),
        "params": params,
    }

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Any | Error | LiveEvent | None:
    if response.status_code == 200:
        response_200 = LiveEvent.from_dict(response.text)

        return response_200

    if response.status_code == 204:
        response_204 = cast(Any, None)
        return response_204

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


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[Any | Error | LiveEvent]:
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
    follow: LiveJobFollow | Unset = UNSET,
    last_event_id: str | Unset = UNSET,
) -> Response[Any | Error | LiveEvent]:
    """Follow a job

     A stream of server-sent events from the beginning of the job, or after the event that `Last-Event-
    ID`
    names, until the job ends, in the order of their times. The data of each event is a JSON object.

    Its `type` is the name of the event.

    | event | data |
    |---|---|
    | `state` | `status`, `previous` and `at` of each change of the state |
    | `command` | `commandId`, `command`, `outcome` (done or failed), `reason` of a failure, and `at` of
    each outcome of a command |
    | `stream` | `stream`, `host`, `state` (connected, disconnected or failed), `reason` and `at` of
    each change of a stream of the job |
    | `participants` | `participants`: the `id` and `name` of everybody in the meeting, after each
    change |
    | `speaking` | `participantIds` of those who speak, after each change |
    | `caption`, `chat` | `id`, `participantId`, `author`, `text`, `language`, `startedAt`, `endedAt`;
    an event with the `id` of an earlier one of its kind replaces it |
    | `transcript` | what the live transcriber has heard: `id`, `revision`, `final`, `participantId`,
    `speaker`, `text`, `language`, `words`, `confirmed`, `startMs`, `endMs`, `startedAt`, `endedAt`; an
    event with the `id` of an earlier one replaces it |
    | `end` | `status`; the last event |

    `participants` and `speaking` are as of the last heartbeat of the bot, usually at most five seconds
    old, and
    have no event ID. A comment is sent every 15 seconds. A client that does not read is disconnected.
    After an
    hour the stream ends and the client should reconnect. A request for a job that has ended, with the
    ID of its
    `end`, is answered with 204. The stream also ends when the key
    is revoked. A consumer may have 100 streams per node, and a node 1000.

    Args:
        id (UUID):
        follow (LiveJobFollow | Unset):
        last_event_id (str | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Any | Error | LiveEvent]
    """

    kwargs = _get_kwargs(
        id=id,
        follow=follow,
        last_event_id=last_event_id,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    id: UUID,
    *,
    client: AuthenticatedClient,
    follow: LiveJobFollow | Unset = UNSET,
    last_event_id: str | Unset = UNSET,
) -> Any | Error | LiveEvent | None:
    """Follow a job

     A stream of server-sent events from the beginning of the job, or after the event that `Last-Event-
    ID`
    names, until the job ends, in the order of their times. The data of each event is a JSON object.

    Its `type` is the name of the event.

    | event | data |
    |---|---|
    | `state` | `status`, `previous` and `at` of each change of the state |
    | `command` | `commandId`, `command`, `outcome` (done or failed), `reason` of a failure, and `at` of
    each outcome of a command |
    | `stream` | `stream`, `host`, `state` (connected, disconnected or failed), `reason` and `at` of
    each change of a stream of the job |
    | `participants` | `participants`: the `id` and `name` of everybody in the meeting, after each
    change |
    | `speaking` | `participantIds` of those who speak, after each change |
    | `caption`, `chat` | `id`, `participantId`, `author`, `text`, `language`, `startedAt`, `endedAt`;
    an event with the `id` of an earlier one of its kind replaces it |
    | `transcript` | what the live transcriber has heard: `id`, `revision`, `final`, `participantId`,
    `speaker`, `text`, `language`, `words`, `confirmed`, `startMs`, `endMs`, `startedAt`, `endedAt`; an
    event with the `id` of an earlier one replaces it |
    | `end` | `status`; the last event |

    `participants` and `speaking` are as of the last heartbeat of the bot, usually at most five seconds
    old, and
    have no event ID. A comment is sent every 15 seconds. A client that does not read is disconnected.
    After an
    hour the stream ends and the client should reconnect. A request for a job that has ended, with the
    ID of its
    `end`, is answered with 204. The stream also ends when the key
    is revoked. A consumer may have 100 streams per node, and a node 1000.

    Args:
        id (UUID):
        follow (LiveJobFollow | Unset):
        last_event_id (str | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Any | Error | LiveEvent
    """

    return sync_detailed(
        id=id,
        client=client,
        follow=follow,
        last_event_id=last_event_id,
    ).parsed


async def asyncio_detailed(
    id: UUID,
    *,
    client: AuthenticatedClient,
    follow: LiveJobFollow | Unset = UNSET,
    last_event_id: str | Unset = UNSET,
) -> Response[Any | Error | LiveEvent]:
    """Follow a job

     A stream of server-sent events from the beginning of the job, or after the event that `Last-Event-
    ID`
    names, until the job ends, in the order of their times. The data of each event is a JSON object.

    Its `type` is the name of the event.

    | event | data |
    |---|---|
    | `state` | `status`, `previous` and `at` of each change of the state |
    | `command` | `commandId`, `command`, `outcome` (done or failed), `reason` of a failure, and `at` of
    each outcome of a command |
    | `stream` | `stream`, `host`, `state` (connected, disconnected or failed), `reason` and `at` of
    each change of a stream of the job |
    | `participants` | `participants`: the `id` and `name` of everybody in the meeting, after each
    change |
    | `speaking` | `participantIds` of those who speak, after each change |
    | `caption`, `chat` | `id`, `participantId`, `author`, `text`, `language`, `startedAt`, `endedAt`;
    an event with the `id` of an earlier one of its kind replaces it |
    | `transcript` | what the live transcriber has heard: `id`, `revision`, `final`, `participantId`,
    `speaker`, `text`, `language`, `words`, `confirmed`, `startMs`, `endMs`, `startedAt`, `endedAt`; an
    event with the `id` of an earlier one replaces it |
    | `end` | `status`; the last event |

    `participants` and `speaking` are as of the last heartbeat of the bot, usually at most five seconds
    old, and
    have no event ID. A comment is sent every 15 seconds. A client that does not read is disconnected.
    After an
    hour the stream ends and the client should reconnect. A request for a job that has ended, with the
    ID of its
    `end`, is answered with 204. The stream also ends when the key
    is revoked. A consumer may have 100 streams per node, and a node 1000.

    Args:
        id (UUID):
        follow (LiveJobFollow | Unset):
        last_event_id (str | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Any | Error | LiveEvent]
    """

    kwargs = _get_kwargs(
        id=id,
        follow=follow,
        last_event_id=last_event_id,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    id: UUID,
    *,
    client: AuthenticatedClient,
    follow: LiveJobFollow | Unset = UNSET,
    last_event_id: str | Unset = UNSET,
) -> Any | Error | LiveEvent | None:
    """Follow a job

     A stream of server-sent events from the beginning of the job, or after the event that `Last-Event-
    ID`
    names, until the job ends, in the order of their times. The data of each event is a JSON object.

    Its `type` is the name of the event.

    | event | data |
    |---|---|
    | `state` | `status`, `previous` and `at` of each change of the state |
    | `command` | `commandId`, `command`, `outcome` (done or failed), `reason` of a failure, and `at` of
    each outcome of a command |
    | `stream` | `stream`, `host`, `state` (connected, disconnected or failed), `reason` and `at` of
    each change of a stream of the job |
    | `participants` | `participants`: the `id` and `name` of everybody in the meeting, after each
    change |
    | `speaking` | `participantIds` of those who speak, after each change |
    | `caption`, `chat` | `id`, `participantId`, `author`, `text`, `language`, `startedAt`, `endedAt`;
    an event with the `id` of an earlier one of its kind replaces it |
    | `transcript` | what the live transcriber has heard: `id`, `revision`, `final`, `participantId`,
    `speaker`, `text`, `language`, `words`, `confirmed`, `startMs`, `endMs`, `startedAt`, `endedAt`; an
    event with the `id` of an earlier one replaces it |
    | `end` | `status`; the last event |

    `participants` and `speaking` are as of the last heartbeat of the bot, usually at most five seconds
    old, and
    have no event ID. A comment is sent every 15 seconds. A client that does not read is disconnected.
    After an
    hour the stream ends and the client should reconnect. A request for a job that has ended, with the
    ID of its
    `end`, is answered with 204. The stream also ends when the key
    is revoked. A consumer may have 100 streams per node, and a node 1000.

    Args:
        id (UUID):
        follow (LiveJobFollow | Unset):
        last_event_id (str | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Any | Error | LiveEvent
    """

    return (
        await asyncio_detailed(
            id=id,
            client=client,
            follow=follow,
            last_event_id=last_event_id,
        )
    ).parsed
