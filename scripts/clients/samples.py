"""Runs the code samples of the API description against a service.

    samples.py DESCRIPTION DIRECTORY

The directory has node_modules with TypeScript, and the program standin.
"""
import json
import os
import subprocess
import sys
import time
import urllib.request

description, directory = json.load(open(sys.argv[1])), os.path.abspath(sys.argv[2])
url, key = os.environ["STANDIN_URL"], os.environ["STANDIN_API_KEY"]
failed = 0


def call(method, path, body=None):
    request = urllib.request.Request(
        url + path, method=method, data=body and json.dumps(body).encode(), headers={"Authorization": "Bearer " + key})
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def create(name, **simulate):
    return call("POST", "/api/v1/jobs", {
        "externalId": f"samples-{name}-{time.time_ns()}", "meetingUrl": "https://meet.google.com/abc-defg-hij",
        "metadata": {"captions": True, "simulate": simulate}, "output": {}})["id"]


def wait(job, *statuses):
    while call("GET", "/api/v1/jobs/" + job)["status"] not in statuses:
        time.sleep(0.2)


def command(label, source, folder):
    """Writes a sample to a folder, and returns the command that runs it."""
    if label in ("curl", "CLI"):
        return ["sh", "-ec", source]
    if label == "Python":
        return [sys.executable, "-c", source]
    name = {"Go": "main.go", "TypeScript": "main.mts"}[label]
    with open(os.path.join(folder, name), "w") as file:
        file.write(source)
    if label == "Go":
        return ["go", "run", "main.go"]
    options = "--strict --module nodenext --target es2023 --lib es2023,dom,dom.iterable,dom.asynciterable --types node --typeRoots"
    tsc = ["npx", "--prefix", directory, "tsc", *options.split(), os.path.join(directory, "node_modules", "@types"), "main.mts"]
    return ["sh", "-ec", '"$@" >&2 && node main.mjs', "sh", *tsc]


def run(operation, job):
    """Runs all samples of an operation."""
    global failed
    for sample in samples.pop(operation):
        folder = os.path.join(directory, "samples", operation, sample["label"])
        os.makedirs(folder)
        result = subprocess.run(
            command(sample["label"], sample["source"], folder), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=120, env={**os.environ, "JOB_ID": job, "PATH": directory + ":" + os.environ["PATH"]})
        print(f"{operation}, {sample['label']}: {'ok' if result.returncode == 0 else result.stdout}")
        failed += result.returncode != 0


samples = {
    operation["operationId"]: operation["x-codeSamples"]
    for item in description["paths"].values() for operation in item.values() if "x-codeSamples" in operation}
running, finished = create("running", outcome="slow_meeting", seconds=600), create("finished", seconds=2)
wait(running, "recording_started")
wait(finished, "completed")
run("createJob", "")
run("listJobs", "")
run("getJob", running)
run("sendChatMessage", running)
run("stopOutput", running)
run("cancelJob", running)
for operation in ("liveJob", "getTranscript", "getManifest", "getMedia"):
    run(operation, finished)
for operation in ("playAudio", "speak", "setCamera", "shareScreen"):  # need files on the internet, and a speech server
    samples.pop(operation)
for operation in samples:
    print(f"{operation}: its samples are not run")
    failed += 1
sys.exit(1 if failed else 0)
