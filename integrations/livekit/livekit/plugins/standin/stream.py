"""Connections of Standin."""

import asyncio
import json
import os
import struct
from collections.abc import Awaitable, Callable
from typing import Any, Literal

from aiohttp import WSCloseCode, WSMsgType, web

from livekit import rtc

from .audio import StandinAudioInput, StandinAudioOutput
from .log import logger
from .verify import verify_request

HEADER = struct.Struct("<II")  # source, milliseconds since the start of the recording
MIXED = 0  # the source of the mixed sound
START_TIMEOUT = 10  # seconds until Standin has sent its first message
SHUTDOWN_TIMEOUT = 5  # seconds that open streams get when the server stops


class StandinStream(rtc.EventEmitter[Literal["speaker", "sound", "message"]]):
    """A meeting's sound, and the voice of the bot in it.

    Events:
        speaker(participant_id, name): Somebody begins to speak, or a source of sound has got an owner. Needs `audio`
            `participants` or `both`, or the `events` `participants` and `speaking`. An unknown name is empty.
        sound(participant_id, frame): Sound of one participant, with `audio` `participants` or `both`. The ID is empty
            while it is unknown.
        message(message): Each text message as a dict.
    """

    def __init__(self, start: dict[str, Any]) -> None:
        """start is the first message of the stream."""
        super().__init__()
        self.start = start
        self.sample_rate: int = start["sampleRate"]
        self.input = StandinAudioInput()
        self._outbox: asyncio.Queue[str | bytes] = asyncio.Queue()
        self.output = StandinAudioOutput(self.sample_rate, self._outbox.put_nowait)
        self._names: dict[str, str] = {}
        self._owners: dict[int, str] = {}
        self._speaking: set[str] = set()
        self._ended = asyncio.Event()

    async def wait_ended(self) -> None:
        """Waits until the stream has ended, or the connection is lost."""
        await self._ended.wait()

    async def _run(self, websocket: web.WebSocketResponse) -> None:
        """Exchanges messages until the stream ends."""
        sending = asyncio.create_task(self._send(websocket))
        try:
            async for message in websocket:
                if message.type is WSMsgType.BINARY:
                    self._on_binary(message.data)
                elif message.type is WSMsgType.TEXT and not self._on_text(message.data):
                    break
        finally:
            self._ended.set()
            self.input.push(None)
            self.output.close()
            sending.cancel()
            await asyncio.wait([sending])

    async def _send(self, websocket: web.WebSocketResponse) -> None:
        while True:
            message = await self._outbox.get()
            try:
                await (websocket.send_str(message) if isinstance(message, str) else websocket.send_bytes(message))
            except ConnectionError:
                return  # the connection is lost, and _run ends

    def _on_binary(self, data: bytes) -> None:
        if len(data) <= HEADER.size or len(data) % 2:
            logger.warning("ignored a binary message of %d bytes", len(data))
            return
        source, _ = HEADER.unpack_from(data)
        pcm = data[HEADER.size :]
        frame = rtc.AudioFrame(pcm, self.sample_rate, num_channels=1, samples_per_channel=len(pcm) // 2)
        if source == MIXED:
            self.input.push(frame)
        else:
            self.emit("sound", self._owners.get(source, ""), frame)

    def _on_text(self, data: str) -> bool:
        """Handles a text message, and reports whether others follow."""
        try:
            message = json.loads(data)
            kind = message["type"]
        except (ValueError, KeyError, TypeError):
            logger.warning("ignored a text message that is not of Standin")
            return True
        if kind == "speaker":
            self._owners[message["source"]] = owner = message["participantId"] or ""
            if owner:
                self._names[owner] = message["name"] or ""
                self.emit("speaker", owner, self._names[owner])
        elif kind == "participants":
            self._names |= {person["id"]: person["name"] for person in message["participants"]}
        elif kind == "speaking":
            before, self._speaking = self._speaking, set(message["participantIds"])
            for participant in message["participantIds"]:
                if participant not in before:
                    self.emit("speaker", participant, self._names.get(participant, ""))
        self.emit("message", message)
        return kind != "end"


def create_app(entrypoint: Callable[[StandinStream], Awaitable[None]], secret: str) -> web.Application:
    """Creates an application that runs entrypoint for each stream. The stream ends when entrypoint returns.

    A connection request that Standin did not send in the last five minutes gets the response 401.
    """
    verify_request(secret, {})  # raises now if the secret is unusable

    async def handle(request: web.Request) -> web.StreamResponse:
        if not verify_request(secret, request.headers):
            return web.Response(status=401, text="Missing or invalid signature.\n")
        websocket = web.WebSocketResponse()
        await websocket.prepare(request)
        stream = StandinStream(await websocket.receive_json(timeout=START_TIMEOUT))
        connection = asyncio.create_task(stream._run(websocket))
        code = WSCloseCode.GOING_AWAY  # the server stops, and Standin connects again
        try:
            await entrypoint(stream)
            code = WSCloseCode.OK
        except Exception:
            logger.exception("the agent failed")
            code = WSCloseCode.INTERNAL_ERROR  # Standin connects again
        finally:
            await websocket.close(code=code)
            await connection
        return websocket

    app = web.Application()
    app.router.add_get("/", handle)
    return app


def serve(
    entrypoint: Callable[[StandinStream], Awaitable[None]],
    *,
    secret: str | None = None,
    host: str | None = None,
    port: int | None = None,
) -> None:
    """Runs entrypoint for each stream until the process is interrupted.

    secret, host and port default to the environment variables STANDIN_WEBHOOK_SECRET, HOST and PORT, and host and
    port then to 127.0.0.1 and 9002.
    """
    web.run_app(
        create_app(entrypoint, secret or os.environ["STANDIN_WEBHOOK_SECRET"]),
        host=host or os.environ.get("HOST", "127.0.0.1"),
        port=port or int(os.environ.get("PORT", "9002")),
        shutdown_timeout=SHUTDOWN_TIMEOUT,
    )
