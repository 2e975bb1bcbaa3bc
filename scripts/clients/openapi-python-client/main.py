"""Tests the client of openapi-python-client."""
import datetime
import hashlib
import json
import uuid

from generated import AuthenticatedClient
from generated.api.jobs import cancel_job, create_job, get_job, list_jobs, live_job
from generated.api.recordings import get_manifest, get_media
from generated.models import AutoLeaveConfig, Error, Job, JobCreate, JobCreateMetadata, JobPage, JobStatus, LiveState, Manifest, Platform
from generated.types import UNSET

from check import check, check_with, done, equal, key, meeting_url, read_events, run, url

client = AuthenticatedClient(base_url=url, token=key)
ids = {}


def job_metadata(**fields):
    return JobCreateMetadata.from_dict({"run": run, **fields})


@check
def create():
    job = create_job.sync(client=client, body=JobCreate(
        external_id=run + "-a", meeting_url=meeting_url, metadata=job_metadata(captions=True, simulate={"seconds": 2}),
        auto_leave=AutoLeaveConfig(after_solo_seconds=120)))
    assert isinstance(job, Job), job
    equal(job.auto_leave.after_solo_seconds, 120)
    equal(job.auto_leave.after_max_seconds, 14400)
    ids["a"] = job.id
    later = create_job.sync(client=client, body=JobCreate(
        external_id=run + "-b", meeting_url=meeting_url, metadata=job_metadata(),
        join_at=datetime.datetime(2999, 1, 1, tzinfo=datetime.timezone.utc)))
    ids["b"] = later.id


@check
def list():
    found, cursor = [], UNSET
    while cursor is not None:
        page = list_jobs.sync(client=client, limit=1, cursor=cursor, metadata=["run=" + run], platform=Platform.MEET)
        assert isinstance(page, JobPage), page
        found += [job.id for job in page.jobs]
        cursor = page.next_cursor
    equal(found, [ids["b"], ids["a"]])
    page = list_jobs.sync(
        client=client, metadata=["run=" + run], status=[JobStatus.SCHEDULED, JobStatus.FAILED],
        created_from=datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc))
    equal(page.jobs[0].id, ids["b"])


@check
def get():
    job = get_job.sync(ids["b"], client=client)
    equal(job.status, JobStatus.SCHEDULED)
    equal(job.join_at.year, 2999)


@check
def cancel():
    equal(cancel_job.sync_detailed(ids["b"], client=client).status_code, 204)


@check_with("httpx")
def live():
    request = live_job._get_kwargs(ids["a"])
    completed, last = False, ""
    with client.get_httpx_client().stream(**request) as response:
        for last, data in read_events(response.iter_lines()):
            if last == "state":
                completed = LiveState.from_dict(json.loads(data)).status == JobStatus.COMPLETED
    equal((completed, last), (True, "end"))


@check
def manifest():
    manifest = get_manifest.sync(ids["a"], client=client)
    assert isinstance(manifest, Manifest), manifest
    equal(sorted(one.name for one in manifest.participants), ["Ada Quill", "Ben Okafor", "Callum Reid"])
    ids["media"] = manifest.media[0]


@check
def media():
    response = get_media.sync_detailed(ids["a"], ids["media"].name, client=client)
    equal(hashlib.sha256(response.content).hexdigest(), ids["media"].sha256)
    equal(hashlib.sha256(response.parsed.payload.read()).hexdigest(), ids["media"].sha256)


@check
def errors():
    error = create_job.sync(client=client, body=JobCreate(external_id=run + "-c", meeting_url="none"))
    assert isinstance(error, Error), error
    equal(error.issues[0].path[0], "meetingUrl")
    missing = get_job.sync(uuid.UUID(int=0), client=client)
    assert isinstance(missing, Error), missing
    equal(missing.error, "not_found")


done()
