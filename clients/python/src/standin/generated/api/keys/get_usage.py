import datetime
from http import HTTPStatus
from typing import Any

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.error import Error
from ...models.get_usage_format import GetUsageFormat
from ...models.usage_report import UsageReport
from ...types import UNSET, Response, Unset


def _get_kwargs(
    *,
    from_: datetime.date | Unset = UNSET,
    to: datetime.date | Unset = UNSET,
    format_: GetUsageFormat | Unset = GetUsageFormat.JSON,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    json_from_: str | Unset = UNSET
    if not isinstance(from_, Unset):
        json_from_ = from_.isoformat()
    params["from"] = json_from_

    json_to: str | Unset = UNSET
    if not isinstance(to, Unset):
        json_to = to.isoformat()
    params["to"] = json_to

    json_format_: str | Unset = UNSET
    if not isinstance(format_, Unset):
        json_format_ = format_.value

    params["format"] = json_format_

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/api/v1/usage",
        "params": params,
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Error | UsageReport | None:
    if response.status_code == 200:
        response_200 = UsageReport.from_dict(response.json())

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


def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Error | UsageReport]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient,
    from_: datetime.date | Unset = UNSET,
    to: datetime.date | Unset = UNSET,
    format_: GetUsageFormat | Unset = GetUsageFormat.JSON,
) -> Response[Error | UsageReport]:
    """Get the usage

     What the jobs of your team in this key's mode (live or test) have used, by the day (UTC) on which
    they ended. It stays
    when jobs and recordings are deleted. `format=csv` returns a table of the days.

    Args:
        from_ (datetime.date | Unset):
        to (datetime.date | Unset):
        format_ (GetUsageFormat | Unset):  Default: GetUsageFormat.JSON.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | UsageReport]
    """

    kwargs = _get_kwargs(
        from_=from_,
        to=to,
        format_=format_,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    *,
    client: AuthenticatedClient,
    from_: datetime.date | Unset = UNSET,
    to: datetime.date | Unset = UNSET,
    format_: GetUsageFormat | Unset = GetUsageFormat.JSON,
) -> Error | UsageReport | None:
    """Get the usage

     What the jobs of your team in this key's mode (live or test) have used, by the day (UTC) on which
    they ended. It stays
    when jobs and recordings are deleted. `format=csv` returns a table of the days.

    Args:
        from_ (datetime.date | Unset):
        to (datetime.date | Unset):
        format_ (GetUsageFormat | Unset):  Default: GetUsageFormat.JSON.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | UsageReport
    """

    return sync_detailed(
        client=client,
        from_=from_,
        to=to,
        format_=format_,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient,
    from_: datetime.date | Unset = UNSET,
    to: datetime.date | Unset = UNSET,
    format_: GetUsageFormat | Unset = GetUsageFormat.JSON,
) -> Response[Error | UsageReport]:
    """Get the usage

     What the jobs of your team in this key's mode (live or test) have used, by the day (UTC) on which
    they ended. It stays
    when jobs and recordings are deleted. `format=csv` returns a table of the days.

    Args:
        from_ (datetime.date | Unset):
        to (datetime.date | Unset):
        format_ (GetUsageFormat | Unset):  Default: GetUsageFormat.JSON.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | UsageReport]
    """

    kwargs = _get_kwargs(
        from_=from_,
        to=to,
        format_=format_,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient,
    from_: datetime.date | Unset = UNSET,
    to: datetime.date | Unset = UNSET,
    format_: GetUsageFormat | Unset = GetUsageFormat.JSON,
) -> Error | UsageReport | None:
    """Get the usage

     What the jobs of your team in this key's mode (live or test) have used, by the day (UTC) on which
    they ended. It stays
    when jobs and recordings are deleted. `format=csv` returns a table of the days.

    Args:
        from_ (datetime.date | Unset):
        to (datetime.date | Unset):
        format_ (GetUsageFormat | Unset):  Default: GetUsageFormat.JSON.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | UsageReport
    """

    return (
        await asyncio_detailed(
            client=client,
            from_=from_,
            to=to,
            format_=format_,
        )
    ).parsed
