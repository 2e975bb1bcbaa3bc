"""The plugin against LiveKit Agents, with a Standin that is a WebSocket client."""

import asyncio
import base64
import hmac
import os
import shutil
import socket
import struct
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import aiohttp
import numpy as np
import pytest
from aiohttp import web
from livekit import rtc
from livekit.agents import Agent, AgentSession
from livekit.agents.voice.io import PlaybackFinishedEvent

from livekit.plugins.standin import StandinStream, create_app, verify_request

SECRET = "whsec_" + base64.b64encode(b"a key of the tests, 32 bytes long").decode()
RATE = 16000
AGENT = Path(__file__).parent.parent / "agent.py"


def sign(secret: str = SECRET, at: float | None = None) -> dict[str, str]:
    """The headers of a connection request."""
    timestamp = str(int(time.time() if at is None else at))
    digest = hmac.digest(base64.b64decode(secret.removeprefix("whsec_")), f"msg_1.{timestamp}.".encode(), "sha256")
    signature = "v1," + base64.b64encode(digest).decode()
    return {"webhook-id": "msg_1", "webhook-timestamp": timestamp, "webhook-signature": signature}


def tone(hertz: float, seconds: float, rate: int = RATE) -> bytes:
    return (8000 * np.sin(2 * np.pi * hertz * np.arange(int(seconds * rate)) / rate)).astype("<i2").tobytes()


def pitch(pcm: bytes, rate: int = RATE) -> float:
    samples = np.frombuffer(pcm, "<i2").astype(float)
    return float(np.abs(np.fft.rfft(samples * np.hanning(len(samples)))).argmax() * rate / len(samples))


def seconds(pcm: bytes, rate: int = RATE) -> float:
    return len(pcm) / 2 / rate


def frames(pcm: bytes, rate: int = RATE, samples: int = 999) -> list[rtc.AudioFrame]:
    parts = [pcm[at : at + 2 * samples] for at in range(0, len(pcm), 2 * samples)]
    return [rtc.AudioFrame(part, rate, 1, len(part) // 2) for part in parts]


def start(rate: int = RATE) -> dict[str, object]:
    return {"type": "start", "version": 1, "jobId": "job", "audio": "both", "encoding": "pcm_s16le",
            "sampleRate": rate, "channels": 1, "frameMs": 20}


def binary(pcm: bytes, source: int = 0, at: int = 0) -> bytes:
    return struct.pack("<II", source, at) + pcm


@asynccontextmanager
async def serve(entrypoint: Callable[[StandinStream], Awaitable[None]]) -> AsyncIterator[str]:
    """Runs a server, and yields its URL."""
    runner = web.AppRunner(create_app(entrypoint, SECRET), shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"ws://127.0.0.1:{runner.addresses[0][1]}/"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def meeting(
    entrypoint: Callable[[StandinStream], Awaitable[None]], rate: int = RATE
) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    """Runs a server, and yields a connection of Standin to it, which has begun."""
    async with serve(entrypoint) as url, aiohttp.ClientSession() as client:
        async with client.ws_connect(url, headers=sign()) as connection:
            await connection.send_json(start(rate))
            yield connection


async def receive(connection: aiohttp.ClientWebSocketResponse, duration: float) -> list[str | bytes]:
    """The messages that arrive within a time."""
    messages: list[str | bytes] = []

    async def read() -> None:
        async for message in connection:
            messages.append(message.data)

    with suppress(asyncio.TimeoutError):
        await asyncio.wait_for(read(), duration)
    return messages


def voice(messages: list[str | bytes]) -> bytes:
    return b"".join(message for message in messages if isinstance(message, bytes))


async def test_sound_in() -> None:
    heard, own, speakers, kinds, done = [], [], [], [], asyncio.Event()

    async def entrypoint(stream: StandinStream) -> None:
        stream.on("speaker", lambda participant_id, name: speakers.append((participant_id, name)))
        stream.on("sound", lambda participant_id, frame: own.append((participant_id, frame)))
        stream.on("message", lambda message: kinds.append(message["type"]))
        heard.extend([frame async for frame in stream.input])
        done.set()

    async with meeting(entrypoint) as connection:
        await connection.send_json({"type": "participants", "participants": [{"id": "p-1", "name": "Bo"}]})
        await connection.send_json({"type": "speaking", "participantIds": ["p-1"]})
        await connection.send_json({"type": "speaking", "participantIds": ["p-1"]})
        await connection.send_json({"type": "speaker", "source": 2, "participantId": "p-2", "name": "Ada"})
        await connection.send_json({"type": "speaker", "source": 3, "participantId": None, "name": None})
        for odd in (b"", b"1234567", binary(b""), binary(b"123")):
            await connection.send_bytes(odd)
        for odd in ("", "[]", "{", '{"kind": "x"}', "null"):
            await connection.send_str(odd)
        mixed, ada = tone(440, 1), tone(880, 1)
        for at in range(0, len(mixed), 640):
            await connection.send_bytes(binary(mixed[at : at + 640], 0, at // 32))
            await connection.send_bytes(binary(ada[at : at + 640], 2, at // 32))
            await asyncio.sleep(0.002)
        await connection.send_json({"type": "gap", "fromMs": 1000, "toMs": 1020, "lostFrames": 1})
        await connection.send_json({"type": "end"})
        await asyncio.wait_for(done.wait(), 5)
        await receive(connection, 5)
        assert connection.close_code == 1000
    assert pitch(b"".join(frame.data.tobytes() for frame in heard)) == pytest.approx(440, abs=2)
    assert sum(frame.duration for frame in heard) == pytest.approx(1)
    assert {participant for participant, _ in own} == {"p-2"}
    assert pitch(b"".join(frame.data.tobytes() for _, frame in own)) == pytest.approx(880, abs=2)
    assert speakers == [("p-1", "Bo"), ("p-2", "Ada")]
    assert kinds == ["participants", "speaking", "speaking", "speaker", "speaker", "gap", "end"]


@pytest.mark.parametrize("rate", [8000, 16000, 48000])
async def test_voice_out(rate: int) -> None:
    """An AgentSession without a room says sound of another rate, in full and in real time."""
    played: list[PlaybackFinishedEvent] = []
    took: list[float] = []

    async def entrypoint(stream: StandinStream) -> None:
        async def sound() -> AsyncIterator[rtc.AudioFrame]:
            for frame in frames(tone(600, 1, 24000), 24000):
                yield frame

        session = AgentSession()
        session.input.audio, session.output.audio = stream.input, stream.output
        stream.output.on("playback_finished", played.append)
        await session.start(Agent(instructions=""), record=False)
        began = time.monotonic()
        await session.say("a tone", audio=sound())
        took.append(time.monotonic() - began)
        await session.aclose()

    async with meeting(entrypoint, rate) as connection:
        messages = await receive(connection, 15)
        assert connection.close_code == 1000
    assert pitch(voice(messages), rate) == pytest.approx(600, abs=2)
    assert seconds(voice(messages), rate) == pytest.approx(1, abs=0.02)
    assert max(len(message) for message in messages if isinstance(message, bytes)) <= rate * 2 / 5
    assert [event.interrupted for event in played] == [False]
    assert played[0].playback_position == pytest.approx(1, abs=0.02)
    assert took[0] >= 1


async def test_interruption_of_a_session() -> None:
    played: list[PlaybackFinishedEvent] = []

    async def entrypoint(stream: StandinStream) -> None:
        async def sound() -> AsyncIterator[rtc.AudioFrame]:
            for frame in frames(tone(600, 5)):
                yield frame

        session = AgentSession()
        session.input.audio, session.output.audio = stream.input, stream.output
        stream.output.on("playback_finished", played.append)
        await session.start(Agent(instructions=""), record=False)
        speech = session.say("a tone", audio=sound())
        await asyncio.sleep(1)
        await session.interrupt()
        await speech
        await session.aclose()

    async with meeting(entrypoint) as connection:
        messages = await receive(connection, 10)
    cleared = messages.index('{"type": "clear"}')
    assert voice(messages[cleared:]) == b""
    assert [event.interrupted for event in played] == [True]
    assert 0 < played[0].playback_position < 2
    assert played[0].playback_position <= seconds(voice(messages)) <= played[0].playback_position + 0.3


async def test_pause_repeats_nothing_and_loses_nothing() -> None:
    played: list[PlaybackFinishedEvent] = []
    position: list[float] = []

    async def entrypoint(stream: StandinStream) -> None:
        output = stream.output
        output.on("playback_finished", played.append)
        for frame in frames(tone(600, 1)):
            await output.capture_frame(frame)
        output.flush()
        await asyncio.sleep(0.5)
        output.pause()
        position.append(output._sent / 2 / RATE)
        await asyncio.sleep(0.5)
        output.resume()
        await output.wait_for_playout()

    async with meeting(entrypoint) as connection:
        messages = await receive(connection, 5)
    cleared = messages.index('{"type": "clear"}')
    before, after = seconds(voice(messages[:cleared])), seconds(voice(messages[cleared:]))
    assert 0 < position[0] <= before <= position[0] + 0.3  # a busy machine is behind
    assert after == pytest.approx(1 - position[0], abs=0.001)
    assert played == [PlaybackFinishedEvent(playback_position=1, interrupted=False)]


async def test_segments() -> None:
    played: list[PlaybackFinishedEvent] = []

    async def entrypoint(stream: StandinStream) -> None:
        output = stream.output
        output.on("playback_finished", played.append)
        output.flush()  # nothing was captured
        output.clear_buffer()
        for length in (0.3, 0.2):
            for frame in frames(tone(600, length), samples=7):
                await output.capture_frame(frame)
            output.flush()
        await output.wait_for_playout()
        for frame in frames(tone(600, 1)):
            await output.capture_frame(frame)
        await asyncio.sleep(0.3)
        output.clear_buffer()
        await output.capture_frame(frames(tone(600, 1), samples=RATE)[0])  # too late
        output.flush()
        await output.wait_for_playout()
        with pytest.raises(ValueError):
            await output.capture_frame(frames(tone(600, 0.1, 8000), 8000)[0])

    async with meeting(entrypoint) as connection:
        await receive(connection, 5)
        assert connection.close_code == 1000
    assert [event.interrupted for event in played] == [False, False, True]
    assert [event.playback_position for event in played[:2]] == [0.3, 0.2]
    assert 0 < played[2].playback_position < 1


async def test_lost_connection_interrupts() -> None:
    played: list[PlaybackFinishedEvent] = []
    ended = asyncio.Event()

    async def entrypoint(stream: StandinStream) -> None:
        stream.output.on("playback_finished", played.append)
        for _ in range(2):
            for frame in frames(tone(600, 2)):
                await stream.output.capture_frame(frame)
            stream.output.flush()
        await stream.output.wait_for_playout()
        await stream.wait_ended()
        assert [frame async for frame in stream.input] == []
        ended.set()

    async with meeting(entrypoint) as connection:
        await asyncio.sleep(0.5)
        connection._response.connection.transport.abort()
        await asyncio.wait_for(ended.wait(), 5)
    assert [event.interrupted for event in played] == [True, True]
    assert 0 < played[0].playback_position < 2 and played[1].playback_position == 0


async def test_failure_of_the_agent_lets_standin_connect_again() -> None:
    async def entrypoint(stream: StandinStream) -> None:
        raise RuntimeError("a fault")

    async with meeting(entrypoint) as connection:
        await receive(connection, 5)
        assert connection.close_code == 1011


OTHER = "whsec_" + base64.b64encode(b"a key of somebody else").decode()


@pytest.mark.parametrize(
    "headers",
    [
        {},
        sign(OTHER),
        sign(at=time.time() - 600),
        sign(at=time.time() + 600),
        sign() | {"webhook-id": "msg_2"},
        sign() | {"webhook-timestamp": "now"},
        sign() | {"webhook-timestamp": "9" * 400},
        sign() | {"webhook-signature": ""},
    ],
)
async def test_refuses(headers: dict[str, str]) -> None:
    async def entrypoint(stream: StandinStream) -> None:
        raise AssertionError("the request was accepted")

    async with serve(entrypoint) as url, aiohttp.ClientSession() as client:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await client.ws_connect(url, headers=headers)
    assert refused.value.status == 401


def test_verify_request() -> None:
    assert verify_request(SECRET, sign())
    rotated = sign()["webhook-signature"] + " " + sign(OTHER)["webhook-signature"]
    assert verify_request(OTHER, sign() | {"webhook-signature": rotated})
    assert not verify_request(SECRET, sign() | {"webhook-signature": "v1,\u00e9\udcff"})
    with pytest.raises(ValueError):
        verify_request("whsec_", sign())


async def test_stop_of_the_server_lets_standin_connect_again() -> None:
    async def entrypoint(stream: StandinStream) -> None:
        await asyncio.Event().wait()

    async with aiohttp.ClientSession() as client:
        async with serve(entrypoint) as url:
            connection = await client.ws_connect(url, headers=sign())
            await connection.send_json(start())
            await asyncio.sleep(0.2)
            closing = asyncio.create_task(receive(connection, 5))
        await closing
        assert connection.close_code != 1000


@pytest.mark.skipif(not shutil.which("espeak-ng"), reason="needs espeak-ng, because the agent only hears speech")
async def test_agent_repeats_what_it_hears() -> None:
    command = "espeak-ng", "--stdout", "Hello, this is a sentence for the agent, and it is quite long."
    speaker = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    wav, _ = await speaker.communicate()
    resampler = rtc.AudioResampler(22050, RATE)  # espeak-ng writes a header of 44 bytes
    parts = resampler.push(frames(wav[44:], 22050, len(wav))[0]) + resampler.flush()
    sentence = b"".join(part.data.tobytes() for part in parts)

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = os.environ | {"STANDIN_WEBHOOK_SECRET": SECRET, "PORT": str(port)}
    process = await asyncio.create_subprocess_exec(sys.executable, str(AGENT), env=environment)
    try:
        async with aiohttp.ClientSession() as client:
            for _ in range(300):
                try:
                    connection = await client.ws_connect(f"ws://127.0.0.1:{port}/", headers=sign())
                    break
                except aiohttp.ClientConnectionError:
                    await asyncio.sleep(0.1)
            await connection.send_json(start())
            said = bytes(2 * RATE) + sentence + bytes(2 * RATE * 8)
            receiving = asyncio.create_task(receive(connection, seconds(said)))
            for at in range(0, len(said), 640):
                await connection.send_bytes(binary(said[at : at + 640], 0, at // 32))
                await asyncio.sleep(0.019)
            messages = await receiving
            await connection.send_json({"type": "end"})
            await receive(connection, 5)
            assert connection.close_code == 1000
    finally:
        process.terminate()
        await process.wait()
    assert seconds(voice(messages)) == pytest.approx(seconds(sentence), abs=1)
