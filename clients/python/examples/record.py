"""Sends a bot into a meeting, and saves its recording."""

import time

from standin import Standin

with Standin() as standin:  # STANDIN_URL and STANDIN_API_KEY
    job = standin.create_job(
        external_id=f"demo-{time.time_ns()}",  # your own ID of the meeting: a second request sends no second bot
        meeting_url="https://meet.google.com/abc-defg-hij",
        captions={"enabled": True},
    )
    for event in standin.live(job.id):
        if event.name == "state":
            print(event.data["status"])
        if event.name == "caption":
            print(f"{event.data['author']}: {event.data['text']}")
    done = standin.wait_until_done(job.id)
    if done.status != "completed":
        raise SystemExit(f"{done.failure_code}: {done.failure_detail}")
    for file in standin.get_manifest(job.id).media:
        with open(file.name, "wb") as to:
            standin.download(job.id, file, to)
        print(file.name, file.bytes_)
