"""Sends a bot into a meeting, and saves its recording."""

import os
import time

from standin import Standin
from standin.models import CaptionsOptions, JobCreate, JobStatus

with Standin(os.environ["STANDIN_URL"], os.environ["STANDIN_API_KEY"]) as standin:
    job = standin.create_job(
        JobCreate(
            external_id=f"demo-{time.time_ns()}",  # your own ID of the meeting: a second request sends no second bot
            meeting_url="https://meet.google.com/abc-defg-hij",
            captions=CaptionsOptions(enabled=True),
        )
    ).job
    for event in standin.live(job.id):
        if event.name == "state":
            print(event.data["status"])
        if event.name == "caption":
            print(f"{event.data['author']}: {event.data['text']}")
    done = standin.wait_until_done(job.id)
    if done.status != JobStatus.COMPLETED:
        raise SystemExit(f"{done.failure_code}: {done.failure_detail}")
    for file in standin.get_manifest(job.id).media:
        with open(file.name, "wb") as to:
            standin.download(job.id, file, to)
        print(file.name, file.bytes_)
