"""Events of a job that is being followed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from .errors import UnexpectedResponseError


@dataclass(frozen=True)
class LiveEvent:
    """An event of a live stream."""

    name: str
    """`state`, `participants`, `speaking`, `caption`, `chat`, `transcript`, `command` or `end`.

    New names may be added.
    """
    data: dict[str, Any]
    """As operation liveJob describes it. Texts are plain text from the meeting: escape them before showing them."""
    id: str | None
    """To continue after this event with `last_event_id`. None for events without one."""


class EventParser:
    """Parses a stream of server-sent events."""

    def __init__(self) -> None:
        self._rest = ""
        self._fields: dict[str, str] = {}

    def feed(self, text: str) -> list[LiveEvent]:
        """Takes a piece of the stream, and returns the events that it completes."""
        events = []
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            if line:
                name, _, value = line.partition(":")
                self._fields[name] = value.removeprefix(" ")
                continue
            fields, self._fields = self._fields, {}
            if "event" in fields and "data" in fields:
                try:
                    data = json.loads(fields["data"])
                except ValueError as error:
                    raise UnexpectedResponseError("the service sent an event that is not JSON") from error
                events.append(LiveEvent(fields["event"], data, fields.get("id")))
        return events
