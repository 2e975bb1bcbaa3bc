"""The rows of ../conformance.json. internal/testing/conformance starts the service and sets the environment."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import os
import socket
import subprocess
import sys
import time
import wave
from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from urllib.request import urlopen
from uuid import UUID, uuid4

import httpx
import pytest

from standin import (
    FINAL,
    APIConnectionError,
    APIError,
    APITimeoutError,
    AsyncStandin,
    ChecksumError,
    ConflictError,
    ForbiddenError,
    InvalidInputError,
    InvalidStateError,
    NotFoundError,
    StandinError,
    UnauthorizedError,
    UnexpectedResponseError,
    WaitTimeoutError,
    WebhookSignatureError,
    __version__,
    params,
    receive_webhook,
    verify_webhook,
)
from standin import models as m

pytestmark = pytest.mark.anyio

URL = os.environ["STANDIN_URL"]
KEY = os.environ["STANDIN_API_KEY"]
FAULTS_URL = os.environ["STANDIN_FAULTS_URL"]
SECRET = os.environ["STANDIN_WEBHOOK_SECRET"]
UPLOAD_JOB = os.environ["STANDIN_UPLOAD_JOB"]
UPLOAD_TOKEN = os.environ["STANDIN_UPLOAD_TOKEN"]
MEETING = "https://meet.google.com/abc-defg-hij"
QUICK = {"simulate": {"seconds": 12, "speed": 20}, "captions": True, "chat": True}
UNKNOWN = "0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e80"
CLIENTS = Path(__file__).parents[2]


def later() -> datetime:
    now = datetime.now(timezone.utc) + timedelta(hours=1)
    return now.replace(microsecond=now.microsecond // 1000 * 1000)


def request(metadata: Mapping[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    return {"external_id": str(uuid4()), "meeting_url": MEETING, "metadata": metadata or {}, **options}


def through(fault: str, **options: Any) -> tuple[AsyncStandin, str]:
    """Returns a client that calls the service with a fault, and the text that counts its requests."""
    text = str(uuid4())
    return AsyncStandin(f"{FAULTS_URL}/{fault}/{text}", KEY, **options), text


def requests_of(text: str, fault: str) -> int:
    with urlopen(f"{FAULTS_URL}/count/{text}/{fault}") as response:
        return int(response.read())


async def record(standin: AsyncStandin) -> m.Job:
    """Returns a job that has been recorded."""
    job = await standin.create_job(**request(QUICK))
    done = await standin.wait_until_done(job.id, interval=1, timeout=60)
    assert done.status == "completed"
    return done


_recorded: list[m.Job] = []


async def recorded(standin: AsyncStandin) -> m.Job:
    """Returns a job that has been recorded, for tests that only read it."""
    if not _recorded:
        _recorded.append(await record(standin))
    return _recorded[0]


async def attended(standin: AsyncStandin, **options: Any) -> m.Job:
    """Returns a job whose bot is in the meeting."""
    job = await standin.create_job(**request({"simulate": "slow_meeting"}, **options))
    async for event in standin.live(job.id):
        if event.name == "state" and event.data["status"] == "recording_started":
            break
    return job


async def follow(standin: AsyncStandin, job: m.Job) -> list[tuple[str, str]]:
    """Returns the events that have an ID."""
    events = []
    last = None
    async for event in standin.live(job.id):
        last = event
        if event.id and event.name != "end":
            events.append((event.name, event.id))
    assert {"state", "caption", "chat"} <= {name for name, _ in events}
    assert last is not None and (last.name, last.data["status"]) == ("end", "completed")
    assert max(Counter(events).values()) == 1
    return events


async def video(standin: AsyncStandin) -> tuple[m.Job, m.MediaFile]:
    job = await recorded(standin)
    manifest = await standin.get_manifest(job.id)
    return job, next(file for file in manifest.media if file.kind == "video")


async def test_create_job() -> None:
    async with AsyncStandin(URL, KEY) as standin:
        at = later()
        new = request({"customer": "ada"}, meeting_url="https://us02web.zoom.us/j/123456789", join_at=at)
        created = await standin.create_job(**new)
        assert not created.replayed and not created.warnings
        assert created.platform == "zoom-web"
        assert created.status == "scheduled"
        assert created.metadata.to_dict() == {"customer": "ada"}
        assert (await standin.get_job(str(created.id))).join_at == at


async def test_replay_job() -> None:
    async with AsyncStandin(URL, KEY) as standin:
        new = request(join_at=later())
        first = await standin.create_job(**new)
        again = await standin.create_job(**new)
        assert (again.id, again.replayed) == (first.id, True)


async def test_job_warnings() -> None:
    async with AsyncStandin(URL, KEY) as standin:
        created = await standin.create_job(**request({"captions": "yes"}, join_at=later()))
        assert created.warnings


async def test_list_pages() -> None:
    async with AsyncStandin(URL, KEY) as standin:
        seen = [job.id async for job in standin.list_jobs(metadata={"list": "pages"})]
        assert (len(seen), len(set(seen))) == (101, 101)


async def test_list_filters() -> None:
    async with AsyncStandin(URL, KEY) as standin:
        job = await standin.create_job(**request(join_at=later()))
        match: dict[str, Any] = {
            "status": ["scheduled", m.JobStatus.PENDING],
            "platform": "meet",
            "external_id": job.external_id,
            "join_from": job.join_at,
            "created_from": job.created_at,
        }
        assert [found.id async for found in standin.list_jobs(**match)] == [job.id]
        assert [found.id async for found in standin.list_jobs(**match, join_to=job.join_at)] == []


async def test_create_batch() -> None:
    async with AsyncStandin(URL, KEY) as standin:
        valid: params.JobCreate = {"external_id": str(uuid4()), "meeting_url": MEETING}
        first, invalid = await standin.create_jobs([valid, {"external_id": "", "meeting_url": "no url"}])
        assert first.status == 201 and first.job and first.job.status == "scheduled"
        assert invalid.status == 400 and not invalid.job and invalid.error and invalid.error.error == "invalid_input"


async def test_job_details() -> None:
    async with AsyncStandin(URL, KEY) as standin:
        job = await standin.create_job(**request(title="Planning", join_at=later()))
        details = await standin.get_job_details(job.id)
        assert (details.id, details.title, details.participants) == (job.id, "Planning", [])


async def test_update_job() -> None:
    async with AsyncStandin(URL, KEY) as standin:
        job = await standin.create_job(**request(join_at=later()))
        at = job.join_at + timedelta(minutes=1)
        assert (await standin.update_job(job.id, join_at=at, display_name="Notes")).join_at == at
        assert (await standin.get_job_settings(job.id)).display_name == "Notes"


async def test_cancel_job() -> None:
    async with AsyncStandin(URL, KEY) as standin:
        job = await standin.create_job(**request(join_at=later()))
        await standin.cancel_job(job.id)
        read = await standin.get_job(job.id)
        assert read.status == "cancelled" and read.status in FINAL


async def test_invalid_input() -> None:
    async with AsyncStandin(URL, KEY) as standin:
        with pytest.raises(InvalidInputError) as caught:
            await standin.create_job(external_id="", meeting_url="no url")
        error = caught.value
        assert (error.status, error.code) == (400, "invalid_input") and error.request_id
        assert sorted(issue.path for issue in error.issues) == [("externalId",), ("meetingUrl",)]
        assert "meetingUrl: " in str(error)


async def test_unauthorized() -> None:
    async with AsyncStandin(URL, "standin_test_nobody") as standin:
        with pytest.raises(UnauthorizedError):
            await standin.get_job(UPLOAD_JOB)


async def test_not_found() -> None:
    async with AsyncStandin(URL, KEY) as standin:
        with pytest.raises(NotFoundError):
            await standin.get_job(UNKNOWN)
        with pytest.raises(StandinError):
            await standin.get_job("..")


async def test_invalid_state() -> None:
    async with AsyncStandin(URL, KEY) as standin:
        job = await standin.create_job(**request(join_at=later()))
        await standin.cancel_job(job.id)
        with pytest.raises(InvalidStateError):
            await standin.update_job(job.id, join_at=later())


async def test_wait_until_done() -> None:
    async with AsyncStandin(URL, KEY) as standin:
        assert (await record(standin)).manifest_uri
        job = await standin.create_job(**request({"simulate": "meeting_not_found"}))
        failed = await standin.wait_until_done(job.id, interval=1)
        assert (failed.status, failed.failure_code) == ("failed", "meeting_not_found")


async def test_wait_timeout() -> None:
    async with AsyncStandin(URL, KEY) as standin:
        job = await standin.create_job(**request(join_at=later()))
        with pytest.raises(WaitTimeoutError):
            await standin.wait_until_done(job.id, timeout=0.1)


async def test_send_commands() -> None:
    async with AsyncStandin(URL, KEY) as standin:
        job = await attended(standin)
        message = await standin.send_chat_message(job.id, "Hello")
        assert await standin.send_command(job.id, "leave-call") != message
        assert (await standin.wait_until_done(job.id, interval=1)).status == "completed"
        assert (await standin.get_manifest(job.id)).end.reason == "left_on_command"


async def test_speak() -> None:
    async with AsyncStandin(URL, KEY) as standin:
        job = await attended(standin, output={})
        sound = io.BytesIO()
        with wave.open(sound, "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(16000)
            file.writeframes(bytes(3200))
        waiting = {
            await standin.play_audio(job.id, data=sound.getvalue()),
            await standin.speak(job.id, "Good morning", language="en", interrupt=True),
        }
        async for event in standin.live(job.id):
            if event.name == "output" and event.data["state"] == "finished":
                waiting.discard(UUID(event.data["commandId"]))
                if not waiting:
                    break
        assert await standin.send_command(job.id, "stop-output")
        silent = await standin.create_job(**request(join_at=later()))
        with pytest.raises(InvalidStateError):
            await standin.speak(silent.id, "Good morning")


async def test_live_events() -> None:
    async with AsyncStandin(URL, KEY) as standin:
        await follow(standin, await standin.create_job(**request(QUICK)))


async def test_live_resume() -> None:
    async with AsyncStandin(URL, KEY) as standin, through("cut")[0] as cut:
        job = await recorded(standin)
        assert await follow(cut, job) == await follow(standin, job)


async def test_manifest() -> None:
    async with AsyncStandin(URL, KEY) as standin:
        job = await recorded(standin)
        manifest = await standin.get_manifest(job.id)
        assert (manifest.schema_version, manifest.job_id, manifest.end.reason) == (1, job.id, "host_ended")
        assert len(manifest.participants) == 3
        videos = [file for file in manifest.media if file.kind == "video"]
        # 20 times as fast: a delay counts 20 times
        assert len(videos) == 1 and 11_500 < (videos[0].duration_ms or 0) < 20_000


async def test_transcript() -> None:
    async with AsyncStandin(URL, KEY) as standin:
        job = await recorded(standin)
        segment = (await standin.get_transcript(job.id)).segments[0]
        assert segment.text and segment.source == "captions"
        assert (await standin.get_transcript_text(job.id, "vtt")).startswith("WEBVTT")
        unrecorded = await standin.create_job(**request(join_at=later()))
        with pytest.raises(InvalidStateError):
            await standin.transcribe_again(unrecorded.id, language="de", keyterms=["Standin"])


async def test_search() -> None:
    async with AsyncStandin(URL, KEY) as standin:
        job = await recorded(standin)
        segment = (await standin.get_transcript(job.id)).segments[0]
        end = time.monotonic() + 20  # texts are indexed after the transcript is stored
        while not any(
            (match.job_id, match.text) == (job.id, segment.text)
            for match in await standin.search(segment.text, limit=100)
        ):
            assert time.monotonic() < end
            await asyncio.sleep(0.1)


async def test_download() -> None:
    async with AsyncStandin(URL, KEY) as standin:
        job = await recorded(standin)
        media = (await standin.get_manifest(job.id)).media
        assert len(media) >= 3
        for file in media:
            to = io.BytesIO()
            await standin.download(job.id, file, to)
            assert (len(to.getvalue()), hashlib.sha256(to.getvalue()).hexdigest()) == (file.bytes_, file.sha256)


async def test_download_resume() -> None:
    async with AsyncStandin(URL, KEY) as standin, through("cut")[0] as cut:
        job, file = await video(standin)
        to = io.BytesIO()
        await cut.download(job.id, file, to)
        assert len(to.getvalue()) == file.bytes_


async def test_download_damaged() -> None:
    async with AsyncStandin(URL, KEY) as standin, through("damaged")[0] as damaged:
        job, file = await video(standin)
        with pytest.raises(ChecksumError):
            await damaged.download(job.id, file, io.BytesIO())


async def test_upload() -> None:
    async with AsyncStandin(URL, KEY) as standin:
        for _ in range(2):
            await standin.upload_media(UPLOAD_TOKEN, UPLOAD_JOB, 0, "python.bin", b"content")
        with pytest.raises(InvalidStateError):
            await standin.upload_media(UPLOAD_TOKEN, UPLOAD_JOB, 0, "python.bin", b"other")


async def test_delete_recording() -> None:
    async with AsyncStandin(URL, KEY) as standin:
        job = await record(standin)
        await standin.delete_recording(job.id)
        with pytest.raises(NotFoundError):
            await standin.get_manifest(job.id)


async def test_history() -> None:
    async with AsyncStandin(URL, KEY) as standin:
        hooks = {"on_status_change": "http://127.0.0.1:1/"}
        job = await standin.create_job(**request(join_at=later(), webhooks=hooks))
        await standin.cancel_job(job.id)
        assert [entry.kind async for entry in standin.list_timeline(job.id)]
        assert {delivery.event async for delivery in standin.list_deliveries(job.id)} == {"job.status_changed"}


async def test_webhook_endpoints() -> None:
    async with AsyncStandin(URL, KEY) as standin:
        endpoint = await standin.create_webhook_endpoint(
            url=f"http://127.0.0.1:1/{uuid4()}", events=["calendar.state_changed"]
        )
        changed = await standin.update_webhook_endpoint(
            endpoint.id, events=["calendar.event_updated"], description="calls"
        )
        assert changed.events == ["calendar.event_updated"]
        assert (await standin.get_webhook_endpoint(endpoint.id)).description == "calls"
        result = await standin.test_webhook_endpoint(endpoint.id)
        assert (result.event, result.acknowledged, bool(result.error)) == ("calendar.event_updated", False, True)
        assert (await standin.retry_webhook_endpoint(endpoint.id)).id == endpoint.id
        assert await standin.redeliver_failed(endpoint_id=endpoint.id) == 0
        assert [delivery async for delivery in standin.list_team_deliveries(endpoint_id=endpoint.id)] == []
        with pytest.raises(NotFoundError):
            await standin.get_delivery("dlv_unknown")
        with pytest.raises(NotFoundError):
            await standin.redeliver_delivery("dlv_unknown")
        await standin.delete_webhook_endpoint(endpoint.id)
        assert endpoint.id not in [other.id async for other in standin.list_webhook_endpoints()]


async def test_keys() -> None:
    async with AsyncStandin(URL, KEY) as standin:
        assert (await standin.get_usage()).total.jobs >= 0
        key = await standin.create_key(name=str(uuid4()), scope="read")
        assert key.name in [other.name async for other in standin.list_keys()]
        async with AsyncStandin(URL, key.key) as reading:
            assert (await reading.me()).key.id == key.id
            await standin.revoke_key(key.id)
            with pytest.raises(UnauthorizedError):
                await reading.me()


async def test_calendars() -> None:
    async with AsyncStandin(URL, KEY) as standin:
        assert [calendar async for calendar in standin.list_calendars()] == []
        with pytest.raises(InvalidStateError):
            await standin.connect_calendar(name="Ada", ics_url="https://example.com/a.ics")
        with pytest.raises(NotFoundError):
            await standin.get_calendar(UNKNOWN)


async def test_verify_webhooks() -> None:
    for example in json.loads((CLIENTS / "webhooks.json").read_text("utf-8"))["cases"]:
        pairs = [(name, value) for name, value in example["headers"]]
        for headers in (pairs, httpx.Headers(pairs)):
            accepted = True
            try:
                verify_webhook(headers, example["body"].encode(), example["secret"], now=example["now"])
            except WebhookSignatureError:
                accepted = False
            assert accepted == example["valid"], example["name"]


async def test_receiver() -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    env = {key: os.environ[key] for key in ("PATH", "PYTHONPATH")}
    env |= {"PORT": str(port), "STANDIN_WEBHOOK_SECRET": SECRET}
    example = CLIENTS / "python" / "examples" / "receiver.py"
    with subprocess.Popen([sys.executable, str(example)], env=env, stdout=subprocess.PIPE, text=True) as receiver:
        try:
            for _ in range(300):
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                except ConnectionRefusedError:
                    await asyncio.sleep(0.1)
            url = f"http://127.0.0.1:{port}/hooks"
            assert httpx.post(url, json={}).status_code == 400
            async with AsyncStandin(URL, KEY) as standin:
                hooks = {"on_status_change": url, "on_finalize": url}
                job = await standin.create_job(**request(QUICK, webhooks=hooks))
            assert receiver.stdout is not None
            received: list[str] = []
            while not received or received[-1] != f"job.finalized {job.id}":
                received.append(receiver.stdout.readline().strip())
                assert received[-1], received
            assert f"job.status_changed {job.id}" in received
        finally:
            receiver.kill()


async def test_retry_after() -> None:
    async with AsyncStandin(URL, KEY) as standin, through("busy")[0] as busy:
        job = await attended(standin)
        began = time.monotonic()
        await busy.send_chat_message(job.id, "Hello")
        assert time.monotonic() - began >= 2


async def test_retry_unavailable() -> None:
    async with through("unavailable")[0] as unavailable:
        await unavailable.create_job(**request(join_at=later()))


async def test_retry_once() -> None:
    name = str(uuid4())
    async with AsyncStandin(URL, KEY) as standin, through("lost")[0] as lost:
        await lost.create_key(name=name)
        assert [key.name async for key in standin.list_keys()].count(name) == 1


async def test_timeout() -> None:
    silent, text = through("silent", timeout=1)
    async with silent:
        with pytest.raises(APITimeoutError):
            await silent.get_job(UPLOAD_JOB)
    assert requests_of(text, "silent") == 3


async def test_retry_after_date() -> None:
    async with through("dated")[0] as dated:
        began = time.monotonic()
        await dated.me()
        assert time.monotonic() - began >= 2


async def test_unknown_values() -> None:
    async with AsyncStandin(URL, KEY) as standin, through("later")[0] as newer:
        job = await standin.create_job(**request(join_at=later()))
        failed = await standin.create_job(**request({"simulate": "meeting_not_found"}))
        await standin.wait_until_done(failed.id, interval=1)
        read = await newer.get_job(job.id)
        assert (read.status, read.platform) == ("levitating", "holodeck")
        assert read.status not in FINAL and read.to_dict()["status"] == str(read.status) == "levitating"
        assert [one.status async for one in newer.list_jobs(external_id=job.external_id)] == ["levitating"]
        assert (await newer.get_job(failed.id)).failure_code == "swallowed"
        assert "applause" in {event.name async for event in newer.live((await recorded(standin)).id)}


async def test_page() -> None:
    async with AsyncStandin(URL, KEY) as standin:
        first = await standin.list_jobs(metadata={"list": "pages"}, limit=60).page()
        jobs = standin.list_jobs(metadata={"list": "pages"}, limit=60, cursor=first.next_cursor)
        rest = [page async for page in jobs.pages()]
        assert [len(page.items) for page in (first, *rest)] == [60, 41]
        assert rest[0].next_cursor is None and first.items[0].id not in [job.id for job in rest[0].items]


async def test_plain_arguments() -> None:
    async with AsyncStandin(URL, KEY) as standin:
        job = await standin.create_job(
            meeting_url=MEETING,
            external_id=str(uuid4()),
            join_at=later(),
            metadata={"customer_id": {"of_team": 7}},
            auto_leave={"after_solo_seconds": 60},
            recording={"mode": "audio"},
        )
        assert job.metadata.to_dict() == {"customer_id": {"of_team": 7}}
        assert job.auto_leave.to_dict()["afterSoloSeconds"] == 60
        assert (await standin.get_job_settings(job.id)).to_dict()["recording"]["mode"] == "audio"


async def test_forbidden() -> None:
    async with AsyncStandin(URL, KEY) as standin:
        key = await standin.create_key(name=str(uuid4()), scope="read")
        async with AsyncStandin(URL, key.key) as reading:
            with pytest.raises(ForbiddenError):
                await reading.create_job(**request())


async def test_conflict() -> None:
    async with through("conflict")[0] as conflict:
        with pytest.raises(ConflictError) as caught:
            await conflict.me()
        assert caught.value.code == "in_use" and not isinstance(caught.value, InvalidStateError)


async def test_unexpected_body() -> None:
    for fault in ("page", "broken"):
        client, text = through(fault)
        async with client:
            with pytest.raises(UnexpectedResponseError):
                await client.get_job(UPLOAD_JOB)
            with pytest.raises(UnexpectedResponseError):
                await client.cancel_job(UPLOAD_JOB)
            with pytest.raises(UnexpectedResponseError):
                await client.list_jobs().page()
        assert requests_of(text, fault) == 3


async def test_connection_error() -> None:
    closed, text = through("closed", max_retries=1)
    async with closed:
        with pytest.raises(APIConnectionError):
            await closed.get_job(UPLOAD_JOB)
    assert requests_of(text, "closed") == 2
    for url in ("", "http://[", "no url"):
        with pytest.raises(StandinError):
            async with AsyncStandin(url or "file:///", KEY) as client:
                await client.me()


async def test_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    async with AsyncStandin() as standin:
        assert (await standin.me()).consumer
    monkeypatch.delenv("STANDIN_API_KEY")
    with pytest.raises(StandinError, match="STANDIN_API_KEY"):
        AsyncStandin()


async def test_call_options() -> None:
    silent, text = through("silent")
    async with silent:
        with pytest.raises(APITimeoutError):
            await silent.with_options(timeout=0.2, max_retries=0).get_job(UPLOAD_JOB)
    assert requests_of(text, "silent") == 1


async def test_user_agent() -> None:
    async with through("agent")[0] as agent:
        with pytest.raises(APIError, match=f"standin-python/{__version__} "):
            await agent.me()


async def test_logging(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", "standin")
    unavailable, text = through("unavailable")
    async with unavailable:
        await unavailable.me()
    path = f"GET /unavailable/{text}/api/v1/me"
    levels = [record.levelname for record in caplog.records if path in record.getMessage()]
    assert levels == ["DEBUG", "WARNING", "DEBUG", "WARNING", "DEBUG"]
    assert KEY not in caplog.text


async def test_webhook_data() -> None:
    seen = set()
    for example in json.loads((CLIENTS / "webhooks.json").read_text("utf-8"))["cases"]:
        if not example["name"].startswith("event "):
            continue
        hook = receive_webhook(example["headers"], example["body"].encode(), example["secret"], now=example["now"])
        assert f"event {hook.event}" == example["name"]
        seen.add(hook.event)
        if hook.event == "bot.levitated":
            assert isinstance(hook.data, dict) and hook.data["height"] == 3 and hook.job_id == UNKNOWN
        else:
            assert not isinstance(hook.data, dict), hook.event
        if isinstance(hook.data, m.JobFinalizedData):
            assert hook.data.job.status == "completed" and hook.data.manifest_uri
    assert len(seen) > 15
