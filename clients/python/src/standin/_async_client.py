"""The asynchronous client. scripts/clients.sh makes _client.py from it."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import date, datetime
from types import TracebackType
from typing import Any, BinaryIO
from urllib.parse import quote
from uuid import UUID

import httpx

from . import models
from ._results import COMMANDS, FINAL, Command, CreatedJob, as_id, parsed
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
from .generated.types import UNSET
from .live import EventParser, LiveEvent

_PAGE = 100
_LIVE_SILENCE = 60.0  # the service sends a comment every 15 seconds


class _AsyncHTTP(httpx.AsyncClient):
    """Repeats requests that failed for a reason that passes, and raises the errors of this package."""

    max_retries = 0

    async def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        make_idempotent(request)
        attempt = 0
        while True:
            response: httpx.Response | None = None
            failure: StandinError
            try:
                response = await super().send(request, **options)
                if response.status_code < 400:
                    return response
                await response.aread()
                await response.aclose()
                failure = error_of(response)
            except httpx.TimeoutException as error:
                failure = APITimeoutError(f"the service did not respond in time ({type(error).__name__})")
            except httpx.TransportError as error:
                failure = APIConnectionError(f"the service cannot be reached: {error}")
            pause = pause_before_retry(response, attempt)
            if pause is None or attempt >= self.max_retries:
                raise failure
            await asyncio.sleep(pause)
            attempt += 1


class AsyncStandin:
    """Calls the API of one service with one API key.

    Use it as a context manager, or close it. It is safe for concurrent use.

    `timeout` is in seconds: to connect, and to wait for data. After a 408, a 429, an error of the service or of the
    connection, requests are repeated up to `max_retries` times; the service executes each once. The pause is what
    `Retry-After` says, up to a minute, else half a second that doubles each time.

    Methods raise a StandinError. `api` is for the functions in `standin.generated.api`, one for each operation.
    """

    api: AuthenticatedClient

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        timeout: float = 30.0,
        max_retries: int = 2,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._http = _AsyncHTTP(
            base_url=base_url.rstrip("/"),
            headers={"Authorization": f"Bearer {api_key}"},
            timeout=timeout,
            transport=transport,
        )
        self._http.max_retries = max_retries
        self.api = AuthenticatedClient(base_url=base_url, token=api_key).set_async_httpx_client(self._http)

    async def __aenter__(self) -> AsyncStandin:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._http.aclose()

    async def create_job(self, job: models.JobCreate) -> CreatedJob:
        """Creates a job, or returns the one with the same `external_id`."""
        response = await create_job.asyncio_detailed(client=self.api, body=job)
        headers = httpx.Headers(response.headers)
        return CreatedJob(
            job=parsed(response, models.Job),
            replayed=headers.get("idempotent-replayed") == "true",
            warnings=tuple(headers.get_list("x-standin-warning")),
        )

    async def create_jobs(self, jobs: Sequence[models.JobCreate]) -> list[models.JobBatchItem]:
        """Creates up to 100 jobs. Each has a result, in the same order: an invalid one does not refuse the others."""
        response = await create_jobs.asyncio_detailed(client=self.api, body=models.JobBatch(jobs=list(jobs)))
        return parsed(response, models.JobBatchResult).results

    async def get_job(self, job_id: UUID | str) -> models.Job:
        """Returns a job."""
        return parsed(await get_job.asyncio_detailed(as_id(job_id), client=self.api), models.Job)

    async def get_job_details(self, job_id: UUID | str) -> models.JobDetails:
        """Returns a job with its options, participants and explained outcome."""
        return parsed(await get_job_details.asyncio_detailed(as_id(job_id), client=self.api), models.JobDetails)

    async def list_jobs(
        self,
        *,
        status: Sequence[models.JobStatus] = (),
        platform: models.Platform | None = None,
        external_id: str | None = None,
        metadata: Mapping[str, str] | None = None,
        created_from: datetime | None = None,
        created_to: datetime | None = None,
        join_from: datetime | None = None,
        join_to: datetime | None = None,
    ) -> AsyncIterator[models.ListedJob]:
        """Iterates over the jobs that match, newest first. Times are from, inclusive, and to, exclusive."""
        cursor: str | models.Unset = UNSET
        while True:
            response = await list_jobs.asyncio_detailed(
                client=self.api,
                cursor=cursor,
                limit=_PAGE,
                status=list(status) or UNSET,
                platform=platform or UNSET,
                external_id=external_id or UNSET,
                metadata=[f"{key}={value}" for key, value in (metadata or {}).items()] or UNSET,
                created_from=created_from or UNSET,
                created_to=created_to or UNSET,
                join_from=join_from or UNSET,
                join_to=join_to or UNSET,
            )
            page = parsed(response, models.JobPage)
            for job in page.jobs:
                yield job
            if page.next_cursor is None:
                return
            cursor = page.next_cursor

    async def update_job(self, job_id: UUID | str, changes: models.JobPatch) -> models.Job:
        """Changes a job that is not yet dispatched. For other jobs it raises InvalidStateError."""
        return parsed(await patch_job.asyncio_detailed(as_id(job_id), client=self.api, body=changes), models.Job)

    async def cancel_job(self, job_id: UUID | str) -> None:
        """Cancels a job. A job that has ended does not change."""
        await cancel_job.asyncio_detailed(as_id(job_id), client=self.api)

    async def get_job_settings(self, job_id: UUID | str) -> models.JobSettings:
        """Returns the settings of a job that are not part of the job."""
        return parsed(await get_job_settings.asyncio_detailed(as_id(job_id), client=self.api), models.JobSettings)

    async def send_command(self, job_id: UUID | str, command: Command) -> UUID:
        """Queues a command for the bot and returns the ID of the command."""
        response = await COMMANDS[command].asyncio_detailed(as_id(job_id), client=self.api)
        return parsed(response, models.CommandQueuedResponse).command_id

    async def send_chat_message(self, job_id: UUID | str, text: str) -> UUID:
        """Sends a message to the chat of the meeting and returns the ID of the command."""
        body = models.ChatMessage(text=text)
        response = await send_chat_message.asyncio_detailed(as_id(job_id), client=self.api, body=body)
        return parsed(response, models.CommandQueuedResponse).command_id

    async def pin_participant(self, job_id: UUID | str, participant_id: str) -> UUID:
        """Pins the video of a participant and returns the ID of the command."""
        body = models.PinnedParticipant(participant_id=participant_id)
        response = await pin_participant.asyncio_detailed(as_id(job_id), client=self.api, body=body)
        return parsed(response, models.CommandQueuedResponse).command_id

    async def play_audio(
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
        content = base64.b64encode(data).decode() if data is not None else UNSET
        body = models.PlayAudio(uri=uri or UNSET, data=content, interrupt=interrupt)
        response = await play_audio.asyncio_detailed(as_id(job_id), client=self.api, body=body)
        return parsed(response, models.CommandQueuedResponse).command_id

    async def speak(
        self,
        job_id: UUID | str,
        text: str,
        *,
        voice: str | None = None,
        language: str | None = None,
        interrupt: bool = False,
    ) -> UUID:
        """Speaks a text in the meeting and returns the ID of the command. See `play_audio`."""
        body = models.SpeakText(text=text, voice=voice or UNSET, language=language or UNSET, interrupt=interrupt)
        response = await speak.asyncio_detailed(as_id(job_id), client=self.api, body=body)
        return parsed(response, models.CommandQueuedResponse).command_id

    async def set_camera(self, job_id: UUID | str, picture: models.CameraPicture) -> UUID:
        """Shows an image, a video or a web page as the camera of the bot, or turns it off, and returns the ID of the
        command. The job needs the option `output`."""
        response = await set_camera.asyncio_detailed(as_id(job_id), client=self.api, body=picture)
        return parsed(response, models.CommandQueuedResponse).command_id

    async def share_screen(self, job_id: UUID | str, picture: models.SharedPicture) -> UUID:
        """Shares an image or a web page as the screen of the bot, or ends the screen share, and returns the ID of the
        command. The job needs the option `output`."""
        response = await share_screen.asyncio_detailed(as_id(job_id), client=self.api, body=picture)
        return parsed(response, models.CommandQueuedResponse).command_id

    async def get_screenshot(self, job_id: UUID | str) -> bytes:
        """Returns what the bot sees, as a JPEG image. Raises InvalidStateError as long as it is not in a meeting."""
        return (await self._http.get(f"/api/v1/jobs/{as_id(job_id)}/screenshot")).content

    async def wait_until_done(
        self, job_id: UUID | str, *, timeout: float | None = None, interval: float = 5.0
    ) -> models.Job:
        """Waits until a job has ended, and returns it as it is then: completed, failed or cancelled.

        It reads the job every `interval` seconds, at least one, and raises WaitTimeoutError after `timeout` seconds.
        Webhooks and `live` tell sooner.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            job = await self.get_job(job_id)
            if job.status in FINAL:
                return job
            pause = max(interval, 1.0)
            if end is not None:
                left = end - time.monotonic()
                if left <= 0:
                    raise WaitTimeoutError(f"job {job_id} is still {job.status.value} after {timeout:g} seconds")
                pause = min(pause, left)
            await asyncio.sleep(pause)

    async def live(self, job_id: UUID | str, *, last_event_id: str | None = None) -> AsyncIterator[LiveEvent]:
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
                timeout = httpx.Timeout(self._http.timeout.connect, read=_LIVE_SILENCE)
                async with self._http.stream("GET", url, headers=headers, timeout=timeout) as response:
                    if response.status_code == 204:  # the job has ended, and nothing is left
                        return
                    parser = EventParser()
                    async for text in response.aiter_text():
                        for event in parser.feed(text):
                            failures = 0
                            last_event_id = event.id or last_event_id
                            yield event
                            if event.name == "end":
                                return
            except httpx.TransportError as error:
                lost = str(error)
            if time.monotonic() - began > _LIVE_SILENCE:  # the service closes streams after an hour
                failures = 0
            if failures >= self._http.max_retries:
                raise APIConnectionError(f"the stream of job {job_id} was lost: {lost}")
            await asyncio.sleep(backoff(failures))
            failures += 1

    async def get_manifest(self, job_id: UUID | str) -> models.Manifest:
        """Returns the manifest of a recording. Raises NotFoundError as long as there is none."""
        return parsed(await get_manifest.asyncio_detailed(as_id(job_id), client=self.api), models.Manifest)

    async def get_transcript(self, job_id: UUID | str) -> models.Transcript:
        """Returns the transcript, or the captions of the meeting platform. Raises NotFoundError as long as there is
        neither."""
        return parsed(await get_transcript.asyncio_detailed(as_id(job_id), client=self.api), models.Transcript)

    async def get_transcript_text(self, job_id: UUID | str, format: models.GetTranscriptFormat) -> str:
        """Returns the transcript as a text: JSON, WebVTT, or a line for each segment."""
        url = f"/api/v1/jobs/{as_id(job_id)}/transcript"
        return (await self._http.get(url, params={"format": format.value})).text

    async def transcribe_again(
        self,
        job_id: UUID | str,
        *,
        model: str | None = None,
        language: str | None = None,
        keyterms: list[str] | None = None,
    ) -> None:
        """Queues another transcription of a recording. Its transcript replaces the current one.

        What is not given is that of the job, or else of the service. Raises InvalidStateError if that is not
        possible now.
        """
        body = models.TranscriptionRequest(model=model or UNSET, language=language or UNSET, keyterms=keyterms or UNSET)
        response = await transcribe_again.asyncio_detailed(as_id(job_id), client=self.api, body=body)
        parsed(response, models.TranscriptionQueued)

    async def search(self, words: str, limit: int = 50) -> list[models.TextMatch]:
        """Searches the transcripts, captions and chats of complete recordings for texts with all words, or words that
        begin with them."""
        return parsed(
            await search_texts.asyncio_detailed(client=self.api, q=words, limit=limit), models.TextMatches
        ).matches

    async def download(self, job_id: UUID | str, file: models.MediaFile, to: BinaryIO) -> None:
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
                async with self._http.stream("GET", url, headers=headers, follow_redirects=True) as response:
                    if response.status_code != (206 if done else 200):
                        raise StandinError(
                            f"the service responded with {response.status_code} to a request for {file.name}"
                        )
                    async for chunk in response.aiter_raw():
                        done += len(chunk)
                        if done > file.bytes_:
                            raise ChecksumError(f"{file.name} is larger than the manifest says")
                        digest.update(chunk)
                        to.write(chunk)
            except httpx.TransportError as error:
                lost = str(error)
            if done >= file.bytes_:
                break
            if done > before:
                failures = 0
            if failures >= self._http.max_retries:
                raise APIConnectionError(f"the download of {file.name} was lost: {lost}")
            await asyncio.sleep(backoff(failures))
            failures += 1
        if digest.hexdigest() != file.sha256:
            raise ChecksumError(f"{file.name} does not have the SHA-256 of the manifest")

    async def upload_media(self, token: str, job_id: UUID | str, attempt: int, name: str, content: bytes) -> None:
        """Stores a file of a recording, for bots that are not Standin's own.

        The token is that of the attempt. The SHA-256 is sent too, so that a damaged body is refused.
        """
        await self._http.put(
            f"/api/v1/ingest/media/{as_id(job_id)}/{attempt:d}/{quote(name, safe='')}",
            content=content,
            headers={
                "Authorization": f"Bearer {token}",
                "Content-Type": "application/octet-stream",
                "x-content-sha256": hashlib.sha256(content).hexdigest(),
            },
        )

    async def delete_recording(self, job_id: UUID | str) -> None:
        """Deletes all files of a recording."""
        await delete_recording.asyncio_detailed(as_id(job_id), client=self.api)

    async def list_timeline(self, job_id: UUID | str) -> AsyncIterator[models.TimelineEntry]:
        """Iterates over the history of a job, oldest first."""
        cursor: str | models.Unset = UNSET
        while True:
            response = await list_timeline.asyncio_detailed(as_id(job_id), client=self.api, cursor=cursor, limit=_PAGE)
            page = parsed(response, models.TimelinePage)
            for entry in page.entries:
                yield entry
            if page.next_cursor is None:
                return
            cursor = page.next_cursor

    async def list_deliveries(self, job_id: UUID | str) -> AsyncIterator[models.Delivery]:
        """Iterates over the webhooks of a job, in the order of their events."""
        cursor: str | models.Unset = UNSET
        while True:
            response = await list_deliveries.asyncio_detailed(
                as_id(job_id), client=self.api, cursor=cursor, limit=_PAGE
            )
            page = parsed(response, models.DeliveryPage)
            for delivery in page.deliveries:
                yield delivery
            if page.next_cursor is None:
                return
            cursor = page.next_cursor

    async def redeliver(self, job_id: UUID | str, delivery_id: str) -> models.Delivery:
        """Sends a webhook again that was delivered or failed permanently."""
        response = await redeliver.asyncio_detailed(as_id(job_id), delivery_id, client=self.api)
        return parsed(response, models.Delivery)

    async def redeliver_failed(self, which: models.FailedDeliveries) -> int:
        """Sends webhooks again that failed permanently, and returns their number."""
        response = await redeliver_failed.asyncio_detailed(client=self.api, body=which)
        return parsed(response, models.RedeliveryResponse).count

    async def list_team_deliveries(
        self,
        *,
        event: str | None = None,
        state: models.ListTeamDeliveriesState | None = None,
        endpoint_id: UUID | str | None = None,
        job_id: UUID | str | None = None,
        emitted_from: datetime | None = None,
        emitted_to: datetime | None = None,
    ) -> AsyncIterator[models.Delivery]:
        """Iterates over the webhooks of the team, newest first. Times are from, inclusive, and to, exclusive."""
        cursor: str | models.Unset = UNSET
        while True:
            response = await list_team_deliveries.asyncio_detailed(
                client=self.api,
                cursor=cursor,
                limit=_PAGE,
                event=event or UNSET,
                state=state or UNSET,
                endpoint_id=as_id(endpoint_id) if endpoint_id else UNSET,
                job_id=as_id(job_id) if job_id else UNSET,
                from_=emitted_from or UNSET,
                to=emitted_to or UNSET,
            )
            page = parsed(response, models.DeliveryPage)
            for delivery in page.deliveries:
                yield delivery
            if page.next_cursor is None:
                return
            cursor = page.next_cursor

    async def get_delivery(self, delivery_id: str) -> models.DeliveryDetails:
        """Returns a webhook of the team with the request of its latest attempt."""
        response = await get_delivery.asyncio_detailed(delivery_id, client=self.api)
        return parsed(response, models.DeliveryDetails)

    async def redeliver_delivery(self, delivery_id: str) -> models.Delivery:
        """Sends a webhook of the team again that was delivered or failed permanently."""
        response = await redeliver_delivery.asyncio_detailed(delivery_id, client=self.api)
        return parsed(response, models.Delivery)

    async def create_webhook_endpoint(self, endpoint: models.WebhookEndpointCreate) -> models.WebhookEndpoint:
        """Registers an endpoint for the events of all jobs."""
        response = await create_webhook_endpoint.asyncio_detailed(client=self.api, body=endpoint)
        return parsed(response, models.WebhookEndpoint)

    async def get_webhook_endpoint(self, endpoint_id: UUID | str) -> models.WebhookEndpoint:
        """Returns an endpoint with its health."""
        response = await get_webhook_endpoint.asyncio_detailed(as_id(endpoint_id), client=self.api)
        return parsed(response, models.WebhookEndpoint)

    async def update_webhook_endpoint(
        self, endpoint_id: UUID | str, changes: models.WebhookEndpointPatch
    ) -> models.WebhookEndpoint:
        """Changes a registered endpoint."""
        response = await patch_webhook_endpoint.asyncio_detailed(as_id(endpoint_id), client=self.api, body=changes)
        return parsed(response, models.WebhookEndpoint)

    async def test_webhook_endpoint(
        self, endpoint_id: UUID | str, event: str | None = None
    ) -> models.WebhookTestResult:
        """Posts an example of an event, by default the first one that the endpoint takes, and returns the response."""
        body = models.WebhookTest(event=event or UNSET)
        response = await test_webhook_endpoint.asyncio_detailed(as_id(endpoint_id), client=self.api, body=body)
        return parsed(response, models.WebhookTestResult)

    async def retry_webhook_endpoint(self, endpoint_id: UUID | str) -> models.WebhookEndpoint:
        """Sends the pending webhooks of an endpoint now."""
        response = await retry_webhook_endpoint.asyncio_detailed(as_id(endpoint_id), client=self.api)
        return parsed(response, models.WebhookEndpoint)

    async def delete_webhook_endpoint(self, endpoint_id: UUID | str) -> None:
        """Deletes a registered endpoint. Its pending webhooks fail."""
        await delete_webhook_endpoint.asyncio_detailed(as_id(endpoint_id), client=self.api)

    async def list_webhook_endpoints(self) -> AsyncIterator[models.WebhookEndpoint]:
        """Iterates over the registered endpoints, and the URLs of jobs that webhooks were sent to."""
        cursor: str | models.Unset = UNSET
        while True:
            response = await list_webhook_endpoints.asyncio_detailed(client=self.api, cursor=cursor, limit=_PAGE)
            page = parsed(response, models.WebhookEndpointPage)
            for endpoint in page.endpoints:
                yield endpoint
            if page.next_cursor is None:
                return
            cursor = page.next_cursor

    async def me(self) -> models.Me:
        """Returns the key of this client, its team, and the version of the service."""
        return parsed(await get_me.asyncio_detailed(client=self.api), models.Me)

    async def rotate_webhook_secret(self) -> models.WebhookSecret:
        """Returns a new webhook secret, which cannot be read again. The old one also signs for a day."""
        return parsed(await rotate_webhook_secret.asyncio_detailed(client=self.api), models.WebhookSecret)

    async def get_usage(self, first: date | None = None, last: date | None = None) -> models.UsageReport:
        """Returns what the team has used from one day (UTC) to another, both included: by default the last 30 days."""
        response = await get_usage.asyncio_detailed(client=self.api, from_=first or UNSET, to=last or UNSET)
        return parsed(response, models.UsageReport)

    async def list_keys(self) -> AsyncIterator[models.Key]:
        """Iterates over the keys of the team that are not revoked, newest first. The key of this client needs the scope
        `admin`, also to create and revoke keys."""
        cursor: str | models.Unset = UNSET
        while True:
            response = await list_keys.asyncio_detailed(client=self.api, cursor=cursor, limit=_PAGE)
            page = parsed(response, models.KeyPage)
            for key in page.keys:
                yield key
            if page.next_cursor is None:
                return
            cursor = page.next_cursor

    async def create_key(self, key: models.KeyCreate) -> models.CreatedKey:
        """Creates a key. Its secret is in the result, and cannot be read again."""
        return parsed(await create_key.asyncio_detailed(client=self.api, body=key), models.CreatedKey)

    async def revoke_key(self, key_id: UUID | str) -> None:
        """Revokes a key, which stops working immediately."""
        await revoke_key.asyncio_detailed(as_id(key_id), client=self.api)

    async def connect_calendar(self, calendar: models.CalendarCreate) -> models.Calendar:
        """Connects a calendar, whose meetings get bots as its rules say. Needs a live key."""
        return parsed(await create_calendar.asyncio_detailed(client=self.api, body=calendar), models.Calendar)

    async def list_calendars(self) -> AsyncIterator[models.Calendar]:
        """Iterates over the connected calendars, oldest first."""
        cursor: str | models.Unset = UNSET
        while True:
            response = await list_calendars.asyncio_detailed(client=self.api, cursor=cursor, limit=_PAGE)
            page = parsed(response, models.CalendarPage)
            for calendar in page.calendars:
                yield calendar
            if page.next_cursor is None:
                return
            cursor = page.next_cursor

    async def get_calendar(self, calendar_id: UUID | str) -> models.Calendar:
        """Returns a calendar."""
        return parsed(await get_calendar.asyncio_detailed(as_id(calendar_id), client=self.api), models.Calendar)

    async def update_calendar(self, calendar_id: UUID | str, changes: models.CalendarPatch) -> models.Calendar:
        """Changes a calendar, which the service then reads again."""
        response = await patch_calendar.asyncio_detailed(as_id(calendar_id), client=self.api, body=changes)
        return parsed(response, models.Calendar)

    async def sync_calendar(self, calendar_id: UUID | str) -> models.CalendarSync:
        """Reads a calendar now. If it cannot be read, the `state` of the calendar is `failing` or `revoked`."""
        return parsed(await sync_calendar.asyncio_detailed(as_id(calendar_id), client=self.api), models.CalendarSync)

    async def disconnect_calendar(self, calendar_id: UUID | str) -> None:
        """Disconnects a calendar, and cancels the jobs that only it asked for."""
        await delete_calendar.asyncio_detailed(as_id(calendar_id), client=self.api)

    async def list_calendar_events(self, calendar_id: UUID | str) -> AsyncIterator[models.CalendarEvent]:
        """Iterates over the upcoming meetings of a calendar, by their start."""
        cursor: str | models.Unset = UNSET
        while True:
            response = await list_calendar_events.asyncio_detailed(
                as_id(calendar_id), client=self.api, cursor=cursor, limit=_PAGE
            )
            page = parsed(response, models.CalendarEventPage)
            for event in page.events:
                yield event
            if page.next_cursor is None:
                return
            cursor = page.next_cursor

    async def override_calendar_event(
        self, calendar_id: UUID | str, event_id: UUID | str, override: bool | None
    ) -> models.CalendarEvent:
        """Sends a bot to a meeting, or none. With None, the rules of the calendar decide."""
        body = models.CalendarEventPatch(override=override)
        response = await patch_calendar_event.asyncio_detailed(
            as_id(calendar_id), as_id(event_id), client=self.api, body=body
        )
        return parsed(response, models.CalendarEvent)
