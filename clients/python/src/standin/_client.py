# scripts/clients.sh makes this file from _async_client.py.
"""The synchronous client."""

from __future__ import annotations

import copy
import hashlib
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import date, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, Generic, Literal, TypeVar, cast
from urllib.parse import quote
from uuid import UUID

import httpx

from . import models, params
from ._request import as_id, body, given, headers, setting
from ._results import COMMANDS, FINAL, Command, CreatedJob, Page, parsed, unexpected_responses
from ._retry import backoff, make_idempotent, pause_before_retry
from .errors import APIConnectionError, APITimeoutError, ChecksumError, StandinError, WaitTimeoutError, error_of
from .generated import AuthenticatedClient
from .generated.api.calendar import (
    create_calendar,
    delete_calendar,
    get_calendar,
    list_calendar_events,
    list_calendars,
    patch_calendar,
    patch_calendar_event,
    sync_calendar,
)
from .generated.api.control import pin_participant, play_audio, send_chat_message, set_camera, share_screen, speak
from .generated.api.history import (
    create_webhook_endpoint,
    delete_webhook_endpoint,
    get_delivery,
    get_webhook_endpoint,
    list_deliveries,
    list_team_deliveries,
    list_timeline,
    list_webhook_endpoints,
    patch_webhook_endpoint,
    redeliver,
    redeliver_delivery,
    redeliver_failed,
    retry_webhook_endpoint,
    rotate_webhook_secret,
    test_webhook_endpoint,
)
from .generated.api.jobs import (
    cancel_job,
    create_job,
    create_jobs,
    get_job,
    get_job_details,
    get_job_settings,
    list_jobs,
    patch_job,
)
from .generated.api.keys import create_key, get_me, get_usage, list_keys, revoke_key
from .generated.api.recordings import delete_recording, get_manifest, get_transcript, search_texts, transcribe_again
from .generated.types import UNSET, Response
from .live import EventParser, LiveEvent

if TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")

_log = logging.getLogger("standin")
_PAGE = 100
_LIVE_SILENCE = 60.0  # the service sends a comment every 15 seconds


class _HTTP:
    """Sends requests, again if they failed for a reason that passes, and raises the errors of this package."""

    def __init__(self, client: httpx.Client, timeout: float, max_retries: int) -> None:
        self.client = client
        self.timeout = timeout
        self.max_retries = max_retries

    def request(
        self, method: str, url: str, *, stream: bool = False, timeout: httpx.Timeout | None = None, **content: Any
    ) -> httpx.Response:
        """Returns a response with a status below 400. One that is a stream must be closed."""
        try:
            request = self.client.build_request(method, url, timeout=timeout or self.timeout, **content)
        except httpx.InvalidURL as error:
            raise APIConnectionError(f"the URL of the service is invalid: {error}") from error
        make_idempotent(request)
        attempt = 0
        while True:
            response: httpx.Response | None = None
            failure: StandinError
            began = time.monotonic()
            try:
                response = self.client.send(request, stream=stream, follow_redirects=stream)
                took = (time.monotonic() - began) * 1000
                _log.debug("%s %s: %d after %d ms", request.method, request.url.path, response.status_code, took)
                if response.status_code < 400:
                    return response
                response.read()
                response.close()
                failure = error_of(response)
            except httpx.TimeoutException as error:
                failure = APITimeoutError(f"the service did not respond in time ({type(error).__name__})")
            except httpx.RequestError as error:
                failure = APIConnectionError(f"the service cannot be reached: {error}")
            pause = pause_before_retry(response, attempt)
            if pause is None or attempt >= self.max_retries:
                raise failure
            _log.warning("%s %s again in %.1f s: %s", request.method, request.url.path, pause, failure)
            time.sleep(pause)
            attempt += 1


class Pages(Generic[T]):
    """A list of the service. Iterate over all its items, over pages, or take one page."""

    def __init__(self, fetch: Callable[[str | None], Any], cursor: str | None) -> None:
        self._fetch = fetch
        self._cursor = cursor

    def page(self) -> Page[T]:
        """Returns the page at the cursor, by default the first one."""
        page: Page[T] = self._fetch(self._cursor)
        return page

    def pages(self) -> Iterator[Page[T]]:
        """Iterates over the pages from the cursor on."""
        page = self.page()
        yield page
        while page.next_cursor is not None:
            page = self._fetch(page.next_cursor)
            yield page

    def __iter__(self) -> Iterator[T]:
        for page in self.pages():
            for item in page.items:
                yield item


class Standin:
    """Calls the API of one service with one API key.

    Use it as a context manager, or close it. It is safe for concurrent use. `base_url` and `api_key` are by default the
    environment variables STANDIN_URL and STANDIN_API_KEY.

    `timeout` is in seconds: to connect, and to wait for data. After a 408, a 429, an error of the service or of the
    connection, requests are repeated up to `max_retries` times; the service executes each once. The pause is what
    `Retry-After` says, up to a minute, else half a second that doubles each time. `with_options` changes both for
    single calls.

    Methods raise a StandinError. Their arguments are those of the API in snake_case, with dicts for objects (see
    `standin.params`). Lists have up to `limit` items in a page (100 at most), and begin at `cursor`. `api` is for the
    functions in `standin.generated.api`, one for each operation.
    """

    api: AuthenticatedClient

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float = 30.0,
        max_retries: int = 2,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._base_url = setting(base_url, "base_url", "STANDIN_URL").rstrip("/")
        self._api_key = setting(api_key, "api_key", "STANDIN_API_KEY")
        try:
            client = httpx.Client(base_url=self._base_url, headers=headers(self._api_key), transport=transport)
        except (httpx.InvalidURL, UnicodeEncodeError) as error:
            raise StandinError(f"the URL of the service or the API key is invalid: {error}") from error
        self._use(_HTTP(client, timeout, max_retries))

    def _use(self, http: _HTTP) -> None:
        self._http = http
        api = AuthenticatedClient(base_url=self._base_url, token=self._api_key, raise_on_unexpected_status=True)
        self.api = api.set_httpx_client(cast(Any, http))

    def with_options(self, *, timeout: float | None = None, max_retries: int | None = None) -> Standin:
        """Returns this client with another timeout or number of retries, for single calls. Both share connections."""
        other = copy.copy(self)
        other._use(
            _HTTP(
                self._http.client,
                self._http.timeout if timeout is None else timeout,
                self._http.max_retries if max_retries is None else max_retries,
            )
        )
        return other

    def __enter__(self) -> Standin:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self._http.client.close()

    def _send(self, operation: Any, *ids: Any, **arguments: Any) -> Response[Any]:
        with unexpected_responses():
            response: Response[Any] = operation.sync_detailed(*ids, client=self.api, **arguments)
        return response

    def _call(self, operation: Any, kind: type[T], *ids: Any, **arguments: Any) -> T:
        return parsed(self._send(operation, *ids, **arguments), kind)

    def _list(
        self,
        operation: Any,
        kind: type[Any],
        items: str,
        *ids: Any,
        cursor: str | None,
        limit: int,
        **query: Any,
    ) -> Pages[Any]:
        def fetch(at: str | None) -> Page[Any]:
            page = self._call(operation, kind, *ids, cursor=at or UNSET, limit=limit, **query)
            return Page(getattr(page, items), page.next_cursor)

        return Pages(fetch, cursor)

    def create_job(self, **job: Unpack[params.JobCreate]) -> CreatedJob:
        """Creates a job, or returns the one with the same `external_id`."""
        return CreatedJob.of(self._send(create_job, body=body(job)))

    def create_jobs(self, jobs: Sequence[params.JobCreate]) -> list[models.JobBatchItem]:
        """Creates up to 100 jobs. Each has a result, in the same order: an invalid one does not refuse the others."""
        return (self._call(create_jobs, models.JobBatchResult, body=body({"jobs": jobs}))).results

    def get_job(self, job_id: UUID | str) -> models.Job:
        """Returns a job."""
        return self._call(get_job, models.Job, as_id(job_id))

    def get_job_details(self, job_id: UUID | str) -> models.JobDetails:
        """Returns a job with its options, participants and explained outcome."""
        return self._call(get_job_details, models.JobDetails, as_id(job_id))

    def list_jobs(
        self,
        *,
        status: Sequence[models.JobStatus | str] = (),
        platform: models.Platform | str | None = None,
        external_id: str | None = None,
        metadata: Mapping[str, str] | None = None,
        created_from: datetime | None = None,
        created_to: datetime | None = None,
        join_from: datetime | None = None,
        join_to: datetime | None = None,
        cursor: str | None = None,
        limit: int = _PAGE,
    ) -> Pages[models.ListedJob]:
        """Lists the jobs that match, newest first. Times are from, inclusive, and to, exclusive."""
        return self._list(
            list_jobs,
            models.JobPage,
            "jobs",
            cursor=cursor,
            limit=limit,
            status=[models.JobStatus(one) for one in status] or UNSET,
            platform=models.Platform(platform) if platform else UNSET,
            external_id=external_id or UNSET,
            metadata=[f"{key}={value}" for key, value in (metadata or {}).items()] or UNSET,
            created_from=created_from or UNSET,
            created_to=created_to or UNSET,
            join_from=join_from or UNSET,
            join_to=join_to or UNSET,
        )

    def update_job(self, job_id: UUID | str, **changes: Unpack[params.JobPatch]) -> models.Job:
        """Changes a job that is not yet dispatched. For other jobs it raises InvalidStateError."""
        return self._call(patch_job, models.Job, as_id(job_id), body=body(changes))

    def cancel_job(self, job_id: UUID | str) -> None:
        """Cancels a job. A job that has ended does not change."""
        self._send(cancel_job, as_id(job_id))

    def get_job_settings(self, job_id: UUID | str) -> models.JobSettings:
        """Returns the settings of a job that are not part of the job."""
        return self._call(get_job_settings, models.JobSettings, as_id(job_id))

    def _command(self, operation: Any, job_id: UUID | str, **arguments: Any) -> UUID:
        return (self._call(operation, models.CommandQueuedResponse, as_id(job_id), **arguments)).command_id

    def send_command(self, job_id: UUID | str, command: Command) -> UUID:
        """Queues a command for the bot and returns the ID of the command."""
        return self._command(COMMANDS[command], job_id)

    def send_chat_message(self, job_id: UUID | str, text: str) -> UUID:
        """Sends a message to the chat of the meeting and returns the ID of the command."""
        return self._command(send_chat_message, job_id, body=body({"text": text}))

    def pin_participant(self, job_id: UUID | str, participant_id: str) -> UUID:
        """Pins the video of a participant and returns the ID of the command."""
        return self._command(pin_participant, job_id, body=body({"participant_id": participant_id}))

    def play_audio(
        self,
        job_id: UUID | str,
        *,
        uri: str | None = None,
        data: bytes | None = None,
        interrupt: bool = False,
    ) -> UUID:
        """Plays an audio file in the meeting, from a URL or with its content, and returns the ID of the command.

        With `interrupt` it replaces what is being played and what waits. The job needs the option `output`. What
        becomes of it is an event `output` of `live`.
        """
        audio = body(given(uri=uri, data=data, interrupt=interrupt))
        return self._command(play_audio, job_id, body=audio)

    def speak(
        self,
        job_id: UUID | str,
        text: str,
        *,
        voice: str | None = None,
        language: str | None = None,
        interrupt: bool = False,
    ) -> UUID:
        """Speaks a text in the meeting and returns the ID of the command. See `play_audio`."""
        spoken = body(given(text=text, voice=voice, language=language, interrupt=interrupt))
        return self._command(speak, job_id, body=spoken)

    def set_camera(self, job_id: UUID | str, **picture: Unpack[params.CameraPicture]) -> UUID:
        """Shows an `image`, a `video` or a web `page` as the camera of the bot, or with `none=True` turns it off, and
        returns the ID of the command. The job needs the option `output`."""
        return self._command(set_camera, job_id, body=body(picture))

    def share_screen(self, job_id: UUID | str, **picture: Unpack[params.SharedPicture]) -> UUID:
        """Shares an `image` or a web `page` as the screen of the bot, or with `none=True` ends the screen share, and
        returns the ID of the command. The job needs the option `output`."""
        return self._command(share_screen, job_id, body=body(picture))

    def get_screenshot(self, job_id: UUID | str) -> bytes:
        """Returns what the bot sees, as a JPEG image. Raises InvalidStateError as long as it is not in a meeting."""
        return (self._http.request("GET", f"/api/v1/jobs/{as_id(job_id)}/screenshot")).content

    def wait_until_done(self, job_id: UUID | str, *, timeout: float | None = None, interval: float = 5.0) -> models.Job:
        """Waits until a job has ended, and returns it as it is then: completed, failed or cancelled.

        It reads the job every `interval` seconds, at least one, and raises WaitTimeoutError after `timeout` seconds.
        Webhooks and `live` tell sooner.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            job = self.get_job(job_id)
            if job.status in FINAL:
                return job
            pause = max(interval, 1.0)
            if end is not None:
                left = end - time.monotonic()
                if left <= 0:
                    raise WaitTimeoutError(f"job {job_id} is still {job.status.value} after {timeout:g} seconds")
                pause = min(pause, left)
            time.sleep(pause)

    def live(self, job_id: UUID | str, *, last_event_id: str | None = None) -> Iterator[LiveEvent]:
        """Follows a job, from its beginning or after an event, until the event `end`.

        It reconnects when the connection is lost, and continues after the last event.
        """
        url = f"/api/v1/jobs/{as_id(job_id)}/live"
        failures = 0
        while True:
            headers = {"Accept": "text/event-stream"}
            if last_event_id:
                headers["Last-Event-ID"] = last_event_id
            began = time.monotonic()
            lost = "the service closed the stream"
            try:
                timeout = httpx.Timeout(self._http.timeout, read=_LIVE_SILENCE)
                stream = self._http.request("GET", url, stream=True, headers=headers, timeout=timeout)
                with closing(stream) as response:
                    if response.status_code == 204:  # the job has ended, and nothing is left
                        return
                    parser = EventParser()
                    for text in response.iter_text():
                        for event in parser.feed(text):
                            failures = 0
                            last_event_id = event.id or last_event_id
                            yield event
                            if event.name == "end":
                                return
            except httpx.RequestError as error:
                lost = str(error)
            if time.monotonic() - began > _LIVE_SILENCE:  # the service closes streams after an hour
                failures = 0
            if failures >= self._http.max_retries:
                raise APIConnectionError(f"the stream of job {job_id} was lost: {lost}")
            time.sleep(backoff(failures))
            failures += 1

    def get_manifest(self, job_id: UUID | str) -> models.Manifest:
        """Returns the manifest of a recording. Raises NotFoundError as long as there is none."""
        return self._call(get_manifest, models.Manifest, as_id(job_id))

    def get_transcript(self, job_id: UUID | str) -> models.Transcript:
        """Returns the transcript, or the captions of the meeting platform. Raises NotFoundError as long as there is
        neither."""
        return self._call(get_transcript, models.Transcript, as_id(job_id))

    def get_transcript_text(self, job_id: UUID | str, format: Literal["json", "vtt", "text"]) -> str:
        """Returns the transcript as a text: JSON, WebVTT, or a line for each segment."""
        url = f"/api/v1/jobs/{as_id(job_id)}/transcript"
        return (self._http.request("GET", url, params={"format": format})).text

    def transcribe_again(
        self,
        job_id: UUID | str,
        *,
        model: str | None = None,
        language: str | None = None,
        keyterms: Sequence[str] | None = None,
    ) -> None:
        """Queues another transcription of a recording. Its transcript replaces the current one.

        What is not given is that of the job, or else of the service. Raises InvalidStateError if that is not
        possible now.
        """
        options = body(given(model=model, language=language, keyterms=keyterms))
        self._call(transcribe_again, models.TranscriptionQueued, as_id(job_id), body=options)

    def search(self, words: str, limit: int = 50) -> list[models.TextMatch]:
        """Searches the transcripts, captions and chats of complete recordings for texts with all words, or words that
        begin with them."""
        return (self._call(search_texts, models.TextMatches, q=words, limit=limit)).matches

    def download(self, job_id: UUID | str, file: models.MediaFile, to: BinaryIO) -> None:
        """Writes a file of a manifest to a binary file.

        It reconnects when the connection is lost, continues where it stopped, and raises ChecksumError if the size
        or the SHA-256 is not that of the manifest. Discard what was written after an error.
        """
        url = f"/api/v1/jobs/{as_id(job_id)}/media/{file.name}"
        digest = hashlib.sha256()
        done = failures = 0
        while done < file.bytes_:
            before, lost = done, "the service closed the connection"
            headers = {"Accept-Encoding": "identity", **({"Range": f"bytes={done}-"} if done else {})}
            try:
                stream = self._http.request("GET", url, stream=True, headers=headers)
                with closing(stream) as response:
                    if response.status_code != (206 if done else 200):
                        raise StandinError(
                            f"the service responded with {response.status_code} to a request for {file.name}"
                        )
                    for chunk in response.iter_raw():
                        done += len(chunk)
                        if done > file.bytes_:
                            raise ChecksumError(f"{file.name} is larger than the manifest says")
                        digest.update(chunk)
                        to.write(chunk)
            except httpx.RequestError as error:
                lost = str(error)
            if done >= file.bytes_:
                break
            if done > before:
                failures = 0
            if failures >= self._http.max_retries:
                raise APIConnectionError(f"the download of {file.name} was lost: {lost}")
            time.sleep(backoff(failures))
            failures += 1
        if digest.hexdigest() != file.sha256:
            raise ChecksumError(f"{file.name} does not have the SHA-256 of the manifest")

    def upload_media(self, token: str, job_id: UUID | str, attempt: int, name: str, content: bytes) -> None:
        """Stores a file of a recording, for bots that are not Standin's own.

        The token is that of the attempt. The SHA-256 is sent too, so that a damaged body is refused.
        """
        self._http.request(
            "PUT",
            f"/api/v1/ingest/media/{as_id(job_id)}/{attempt:d}/{quote(name, safe='')}",
            content=content,
            headers={
                "Authorization": f"Bearer {token}",
                "Content-Type": "application/octet-stream",
                "x-content-sha256": hashlib.sha256(content).hexdigest(),
            },
        )

    def delete_recording(self, job_id: UUID | str) -> None:
        """Deletes all files of a recording."""
        self._send(delete_recording, as_id(job_id))

    def list_timeline(
        self, job_id: UUID | str, *, cursor: str | None = None, limit: int = _PAGE
    ) -> Pages[models.TimelineEntry]:
        """Lists the history of a job, oldest first."""
        return self._list(list_timeline, models.TimelinePage, "entries", as_id(job_id), cursor=cursor, limit=limit)

    def list_deliveries(
        self, job_id: UUID | str, *, cursor: str | None = None, limit: int = _PAGE
    ) -> Pages[models.Delivery]:
        """Lists the webhooks of a job, in the order of their events."""
        return self._list(list_deliveries, models.DeliveryPage, "deliveries", as_id(job_id), cursor=cursor, limit=limit)

    def redeliver(self, job_id: UUID | str, delivery_id: str) -> models.Delivery:
        """Sends a webhook again that was delivered or failed permanently."""
        return self._call(redeliver, models.Delivery, as_id(job_id), delivery_id)

    def redeliver_failed(self, **which: Unpack[params.FailedDeliveries]) -> int:
        """Sends webhooks again that failed permanently, and returns their number."""
        return (self._call(redeliver_failed, models.RedeliveryResponse, body=body(which))).count

    def list_team_deliveries(
        self,
        *,
        event: str | None = None,
        state: models.ListTeamDeliveriesState | str | None = None,
        endpoint_id: UUID | str | None = None,
        job_id: UUID | str | None = None,
        emitted_from: datetime | None = None,
        emitted_to: datetime | None = None,
        cursor: str | None = None,
        limit: int = _PAGE,
    ) -> Pages[models.Delivery]:
        """Lists the webhooks of the team, newest first. Times are from, inclusive, and to, exclusive."""
        return self._list(
            list_team_deliveries,
            models.DeliveryPage,
            "deliveries",
            cursor=cursor,
            limit=limit,
            event=event or UNSET,
            state=models.ListTeamDeliveriesState(state) if state else UNSET,
            endpoint_id=as_id(endpoint_id) if endpoint_id else UNSET,
            job_id=as_id(job_id) if job_id else UNSET,
            from_=emitted_from or UNSET,
            to=emitted_to or UNSET,
        )

    def get_delivery(self, delivery_id: str) -> models.DeliveryDetails:
        """Returns a webhook of the team with the request of its latest attempt."""
        return self._call(get_delivery, models.DeliveryDetails, delivery_id)

    def redeliver_delivery(self, delivery_id: str) -> models.Delivery:
        """Sends a webhook of the team again that was delivered or failed permanently."""
        return self._call(redeliver_delivery, models.Delivery, delivery_id)

    def create_webhook_endpoint(self, **endpoint: Unpack[params.WebhookEndpointCreate]) -> models.WebhookEndpoint:
        """Registers an endpoint for the events of all jobs."""
        return self._call(create_webhook_endpoint, models.WebhookEndpoint, body=body(endpoint))

    def get_webhook_endpoint(self, endpoint_id: UUID | str) -> models.WebhookEndpoint:
        """Returns an endpoint with its health."""
        return self._call(get_webhook_endpoint, models.WebhookEndpoint, as_id(endpoint_id))

    def update_webhook_endpoint(
        self, endpoint_id: UUID | str, **changes: Unpack[params.WebhookEndpointPatch]
    ) -> models.WebhookEndpoint:
        """Changes a registered endpoint."""
        return self._call(patch_webhook_endpoint, models.WebhookEndpoint, as_id(endpoint_id), body=body(changes))

    def test_webhook_endpoint(self, endpoint_id: UUID | str, event: str | None = None) -> models.WebhookTestResult:
        """Posts an example of an event, by default the first one that the endpoint takes, and returns the response."""
        test = body(given(event=event))
        return self._call(test_webhook_endpoint, models.WebhookTestResult, as_id(endpoint_id), body=test)

    def retry_webhook_endpoint(self, endpoint_id: UUID | str) -> models.WebhookEndpoint:
        """Sends the pending webhooks of an endpoint now."""
        return self._call(retry_webhook_endpoint, models.WebhookEndpoint, as_id(endpoint_id))

    def delete_webhook_endpoint(self, endpoint_id: UUID | str) -> None:
        """Deletes a registered endpoint. Its pending webhooks fail."""
        self._send(delete_webhook_endpoint, as_id(endpoint_id))

    def list_webhook_endpoints(self, *, cursor: str | None = None, limit: int = _PAGE) -> Pages[models.WebhookEndpoint]:
        """Lists the registered endpoints, and the URLs of jobs that webhooks were sent to."""
        return self._list(list_webhook_endpoints, models.WebhookEndpointPage, "endpoints", cursor=cursor, limit=limit)

    def me(self) -> models.Me:
        """Returns the key of this client, its team, and the version of the service."""
        return self._call(get_me, models.Me)

    def rotate_webhook_secret(self) -> models.WebhookSecret:
        """Returns a new webhook secret, which cannot be read again. The old one also signs for a day."""
        return self._call(rotate_webhook_secret, models.WebhookSecret)

    def get_usage(self, first: date | None = None, last: date | None = None) -> models.UsageReport:
        """Returns what the team has used from one day (UTC) to another, both included: by default the last 30 days."""
        return self._call(get_usage, models.UsageReport, from_=first or UNSET, to=last or UNSET)

    def list_keys(self, *, cursor: str | None = None, limit: int = _PAGE) -> Pages[models.Key]:
        """Lists the keys of the team that are not revoked, newest first. The key of this client needs the scope
        `admin`, also to create and revoke keys."""
        return self._list(list_keys, models.KeyPage, "keys", cursor=cursor, limit=limit)

    def create_key(self, **key: Unpack[params.KeyCreate]) -> models.CreatedKey:
        """Creates a key. Its secret is in the result, and cannot be read again."""
        return self._call(create_key, models.CreatedKey, body=body(key))

    def revoke_key(self, key_id: UUID | str) -> None:
        """Revokes a key, which stops working immediately."""
        self._send(revoke_key, as_id(key_id))

    def connect_calendar(self, **calendar: Unpack[params.CalendarCreate]) -> models.Calendar:
        """Connects a calendar, whose meetings get bots as its rules say. Needs a live key."""
        return self._call(create_calendar, models.Calendar, body=body(calendar))

    def list_calendars(self, *, cursor: str | None = None, limit: int = _PAGE) -> Pages[models.Calendar]:
        """Lists the connected calendars, oldest first."""
        return self._list(list_calendars, models.CalendarPage, "calendars", cursor=cursor, limit=limit)

    def get_calendar(self, calendar_id: UUID | str) -> models.Calendar:
        """Returns a calendar."""
        return self._call(get_calendar, models.Calendar, as_id(calendar_id))

    def update_calendar(self, calendar_id: UUID | str, /, **changes: Unpack[params.CalendarPatch]) -> models.Calendar:
        """Changes a calendar, which the service then reads again."""
        return self._call(patch_calendar, models.Calendar, as_id(calendar_id), body=body(changes))

    def sync_calendar(self, calendar_id: UUID | str) -> models.CalendarSync:
        """Reads a calendar now. If it cannot be read, the `state` of the calendar is `failing` or `revoked`."""
        return self._call(sync_calendar, models.CalendarSync, as_id(calendar_id))

    def disconnect_calendar(self, calendar_id: UUID | str) -> None:
        """Disconnects a calendar, and cancels the jobs that only it asked for."""
        self._send(delete_calendar, as_id(calendar_id))

    def list_calendar_events(
        self, calendar_id: UUID | str, *, cursor: str | None = None, limit: int = _PAGE
    ) -> Pages[models.CalendarEvent]:
        """Lists the upcoming meetings of a calendar, by their start."""
        return self._list(
            list_calendar_events, models.CalendarEventPage, "events", as_id(calendar_id), cursor=cursor, limit=limit
        )

    def override_calendar_event(
        self, calendar_id: UUID | str, event_id: UUID | str, override: bool | None
    ) -> models.CalendarEvent:
        """Sends a bot to a meeting, or none. With None, the rules of the calendar decide."""
        ids = as_id(calendar_id), as_id(event_id)
        return self._call(patch_calendar_event, models.CalendarEvent, *ids, body=body({"override": override}))
