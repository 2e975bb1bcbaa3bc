from http import HTTPStatus
from typing import Any

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.calendar_invite import CalendarInvite
from ...models.error import Error
from ...models.intake_result import IntakeResult
from ...types import Response


def _get_kwargs(
    *,
    body: CalendarInvite,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/api/v1/intake/calendar-invite",
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Error | IntakeResult | None:
    if response.status_code == 200:
        response_200 = IntakeResult.from_dict(response.json())

        return response_200

    if response.status_code == 201:
        response_201 = IntakeResult.from_dict(response.json())

        return response_201

    if response.status_code == 400:
        response_400 = Error.from_dict(response.json())

        return response_400

    if response.status_code == 401:
        response_401 = Error.from_dict(response.json())

        return response_401

    if response.status_code == 404:
        response_404 = Error.from_dict(response.json())

        return response_404

    if response.status_code == 408:
        response_408 = Error.from_dict(response.json())

        return response_408

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
) -> Response[Error | IntakeResult]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient,
    body: CalendarInvite,
) -> Response[Error | IntakeResult]:
    """Schedule a meeting from a calendar invite

     Used by the worker that reads calendar mail. The job belongs to the consumer with the email
    address of the organizer. The consumer is created if it does not exist.

    Invites with the same `icalUid` and `joinAt` are duplicates, and so are those with the same meeting,
    however its link is written, and `joinAt`. If two events share a job and one is moved or cancelled,
    the
    job stays for the other. An invite with the same `icalUid` and
    another time reschedules the job if it is not yet dispatched. A bot that was started for the old
    time or link and is not in the meeting yet leaves: its job is cancelled, and a new one is created.
    A new job is also created if the job has failed and the link is another one. If the free tier is
    exhausted, the job is
    created as `failed` with `quota_exceeded`.

    A job that its consumer has cancelled stays cancelled when the same event comes again or is moved:
    the result has
    `dismissed`. Without a `recurrenceId`, this ends an hour after the time of the job.

    With `cancelled`, the job of the invite is cancelled, and a running bot leaves. The job is found
    by `icalUid` and `joinAt`, or by `icalUid` if its bot is not in the meeting yet; without an
    `icalUid` by
    meeting and `joinAt`. Jobs that were not created by an invite are not cancelled.

    Args:
        body (CalendarInvite): A meeting to which the service was invited.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | IntakeResult]
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
    body: CalendarInvite,
) -> Error | IntakeResult | None:
    """Schedule a meeting from a calendar invite

     Used by the worker that reads calendar mail. The job belongs to the consumer with the email
    address of the organizer. The consumer is created if it does not exist.

    Invites with the same `icalUid` and `joinAt` are duplicates, and so are those with the same meeting,
    however its link is written, and `joinAt`. If two events share a job and one is moved or cancelled,
    the
    job stays for the other. An invite with the same `icalUid` and
    another time reschedules the job if it is not yet dispatched. A bot that was started for the old
    time or link and is not in the meeting yet leaves: its job is cancelled, and a new one is created.
    A new job is also created if the job has failed and the link is another one. If the free tier is
    exhausted, the job is
    created as `failed` with `quota_exceeded`.

    A job that its consumer has cancelled stays cancelled when the same event comes again or is moved:
    the result has
    `dismissed`. Without a `recurrenceId`, this ends an hour after the time of the job.

    With `cancelled`, the job of the invite is cancelled, and a running bot leaves. The job is found
    by `icalUid` and `joinAt`, or by `icalUid` if its bot is not in the meeting yet; without an
    `icalUid` by
    meeting and `joinAt`. Jobs that were not created by an invite are not cancelled.

    Args:
        body (CalendarInvite): A meeting to which the service was invited.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | IntakeResult
    """

    return sync_detailed(
        client=client,
        body=body,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient,
    body: CalendarInvite,
) -> Response[Error | IntakeResult]:
    """Schedule a meeting from a calendar invite

     Used by the worker that reads calendar mail. The job belongs to the consumer with the email
    address of the organizer. The consumer is created if it does not exist.

    Invites with the same `icalUid` and `joinAt` are duplicates, and so are those with the same meeting,
    however its link is written, and `joinAt`. If two events share a job and one is moved or cancelled,
    the
    job stays for the other. An invite with the same `icalUid` and
    another time reschedules the job if it is not yet dispatched. A bot that was started for the old
    time or link and is not in the meeting yet leaves: its job is cancelled, and a new one is created.
    A new job is also created if the job has failed and the link is another one. If the free tier is
    exhausted, the job is
    created as `failed` with `quota_exceeded`.

    A job that its consumer has cancelled stays cancelled when the same event comes again or is moved:
    the result has
    `dismissed`. Without a `recurrenceId`, this ends an hour after the time of the job.

    With `cancelled`, the job of the invite is cancelled, and a running bot leaves. The job is found
    by `icalUid` and `joinAt`, or by `icalUid` if its bot is not in the meeting yet; without an
    `icalUid` by
    meeting and `joinAt`. Jobs that were not created by an invite are not cancelled.

    Args:
        body (CalendarInvite): A meeting to which the service was invited.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | IntakeResult]
    """

    kwargs = _get_kwargs(
        body=body,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient,
    body: CalendarInvite,
) -> Error | IntakeResult | None:
    """Schedule a meeting from a calendar invite

     Used by the worker that reads calendar mail. The job belongs to the consumer with the email
    address of the organizer. The consumer is created if it does not exist.

    Invites with the same `icalUid` and `joinAt` are duplicates, and so are those with the same meeting,
    however its link is written, and `joinAt`. If two events share a job and one is moved or cancelled,
    the
    job stays for the other. An invite with the same `icalUid` and
    another time reschedules the job if it is not yet dispatched. A bot that was started for the old
    time or link and is not in the meeting yet leaves: its job is cancelled, and a new one is created.
    A new job is also created if the job has failed and the link is another one. If the free tier is
    exhausted, the job is
    created as `failed` with `quota_exceeded`.

    A job that its consumer has cancelled stays cancelled when the same event comes again or is moved:
    the result has
    `dismissed`. Without a `recurrenceId`, this ends an hour after the time of the job.

    With `cancelled`, the job of the invite is cancelled, and a running bot leaves. The job is found
    by `icalUid` and `joinAt`, or by `icalUid` if its bot is not in the meeting yet; without an
    `icalUid` by
    meeting and `joinAt`. Jobs that were not created by an invite are not cancelled.

    Args:
        body (CalendarInvite): A meeting to which the service was invited.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | IntakeResult
    """

    return (
        await asyncio_detailed(
            client=client,
            body=body,
        )
    ).parsed
