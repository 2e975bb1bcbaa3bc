"""Tests the client of openapi-generator, python."""
import datetime
import hashlib

import openapi_client
from openapi_client.models import AutoLeaveConfig, JobCreate, JobStatus, LiveState, Platform
from openapi_client.models.error import Error

from check import check, done, equal, key, meeting_url, read_events, run, url

client = openapi_client.ApiClient(openapi_client.Configuration(host=url, access_token=key))
jobs = openapi_client.JobsApi(client)
recordings = openapi_client.RecordingsApi(client)
metadata = {"run": run, "captions": True, "simulate": {"seconds": 2}}
ids = {}


@check
def create():
    job = jobs.create_job(JobCreate(
        external_id=run + "-a", meeting_url=meeting_url, metadata=metadata, auto_leave=AutoLeaveConfig(after_solo_seconds=120)))
    equal(job.auto_leave.after_solo_seconds, 120)
    equal(job.auto_leave.after_max_seconds, 14400)
    ids["a"] = job.id
    ids["b"] = jobs.create_job(JobCreate(
        external_id=run + "-b", meeting_url=meeting_url, metadata={"run": run}, join_at="2999-01-01T00:00:00Z")).id


@check
def list():
    found, cursor = [], None
    while True:
        page = jobs.list_jobs(limit=1, cursor=cursor, metadata=["run=" + run], platform=Platform.MEET)
        found += [job.id for job in page.jobs]
        cursor = page.next_cursor
        if cursor is None:
            break
    equal(found, [ids["b"], ids["a"]])
    page = jobs.list_jobs(
        metadata=["run=" + run], status=[JobStatus.SCHEDULED, JobStatus.FAILED],
        created_from=datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc))
    equal([job.id for job in page.jobs][0], ids["b"])


@check
def get():
    job = jobs.get_job(ids["b"])
    equal(job.status, JobStatus.SCHEDULED)
    equal(job.join_at.year, 2999)


@check
def cancel():
    jobs.cancel_job(ids["b"])


@check
def live():
    response = jobs.live_job_without_preload_content(ids["a"])
    completed, last = False, ""
    for last, data in read_events(response):
        if last == "state":
            completed = LiveState.from_json(data).status == JobStatus.COMPLETED
    equal((completed, last), (True, "end"))


@check
def manifest():
    manifest = recordings.get_manifest(ids["a"])
    equal(sorted(one.name for one in manifest.participants), ["Ada Quill", "Ben Okafor", "Callum Reid"])
    ids["media"] = manifest.media[0]


@check
def media():
    content = recordings.get_media(ids["a"], ids["media"].name)
    equal(hashlib.sha256(content).hexdigest(), ids["media"].sha256)


@check
def errors():
    try:
        jobs.create_job(JobCreate(external_id=run + "-c", meeting_url="none"))
        raise ValueError("no error")
    except openapi_client.exceptions.BadRequestException as refused:
        equal(refused.data.issues[0].path[0].actual_instance, "meetingUrl")
    try:
        jobs.get_job("00000000-0000-0000-0000-000000000000")
        raise ValueError("no error")
    except openapi_client.exceptions.NotFoundException as missing:
        error: Error = missing.data
        equal(error.error, "not_found")


done()
