"""Functions of the Python programs."""
import os
import sys
import time

url = os.environ["STANDIN_URL"]
key = os.environ["STANDIN_API_KEY"]
run = f"run-{os.getpid()}-{time.time_ns()}"
meeting_url = "https://meet.google.com/abc-defg-hij"
failed = False


def check(part, how="ok"):
    """Runs one part of a program and prints its result."""
    global failed
    try:
        part()
        print(f"{part.__name__}: {how}")
    except Exception as error:
        failed = True
        print(f"{part.__name__}: {type(error).__name__}: {error}".split("\n")[0])


def check_with(help):
    """Like check, for a part that needs help from outside the generated client."""
    return lambda part: check(part, "with " + help)


def done():
    sys.exit(1 if failed else 0)


def equal(got, want):
    if got != want:
        raise ValueError(f"got {got!r}, want {want!r}")


def read_events(lines):
    """Yields the names and data of server-sent events."""
    event = {}
    for line in lines:
        line = line.decode() if isinstance(line, bytes) else line
        line = line.rstrip("\r\n")
        if line:
            name, _, value = line.partition(":")
            event[name] = value.removeprefix(" ")
        else:
            if "data" in event:
                yield event["event"], event["data"]
            event = {}
