"""The package against Pipecat, with a Standin that is a WebSocket client."""

import asyncio
import base64
import hmac
import json
import os
import socket
import struct
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import numpy as np
import pytest
import uvicorn
import websockets
from pipecat.frames.frames import (
    EndFrame,
    EndWorkerFrame,
    Frame,
    InputAudioRawFrame,
    InputTransportMessageFrame,
    InterruptionFrame,
    OutputAudioRawFrame,
    TTSAudioRawFrame,
    TTSStoppedFrame,
    UserAudioRawFrame,
)
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from pipecat.workers.runner import WorkerRunner

from pipecat_standin import StandinFrameSerializer, StandinTransport, create_app, verify_request

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


def start(rate: int = RATE) -> str:
    return json.dumps(
        {"type": "start", "version": 1, "jobId": "job", "audio": "both", "encoding": "pcm_s16le", "sampleRate": rate,
         "channels": 1, "frameMs": 20}
    )


def binary(pcm: bytes, source: int = 0, at: int = 0) -> bytes:
    return struct.pack("<II", source, at) + pcm


class Recorder(FrameProcessor):
    """Collects what it hears, and lets a test act when the first sound arrives."""

    def __init__(self, respond: Callable[["Recorder"], object] | None = None) -> None:
        super().__init__()
        self.frames: list[Frame] = []
        self.ended = asyncio.Event()
        self.respond = respond

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if direction is FrameDirection.DOWNSTREAM:
            self.frames.append(frame)
        if isinstance(frame, InputAudioRawFrame):
            if self.respond:
                respond, self.respond = self.respond, None
                await respond(self)
            return
        await self.push_frame(frame, direction)
        if isinstance(frame, EndFrame):
            self.ended.set()

    def of(self, kind: type[Frame]) -> list:
        return [frame for frame in self.frames if isinstance(frame, kind)]


@asynccontextmanager
async def agent(recorder: Recorder, pipeline_rate: int = RATE) -> AsyncIterator[str]:
    """Runs a server with a pipeline, and yields its URL."""

    async def bot(transport: StandinTransport) -> None:
        assert transport.start["jobId"] == "job"
        worker = PipelineWorker(
            Pipeline([transport.input(), recorder, transport.output()]),
            params=PipelineParams(audio_in_sample_rate=pipeline_rate),
            enable_rtvi=False,
        )
        runner = WorkerRunner(handle_sigint=False)
        await runner.add_workers(worker)
        await runner.run()

    server = uvicorn.Server(uvicorn.Config(create_app(bot, SECRET), port=0, log_level="warning"))
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    try:
        yield f"ws://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/"
    finally:
        server.should_exit = True
        await asyncio.wait_for(task, 10)


async def receive(connection: websockets.ClientConnection, seconds: float) -> list[str | bytes]:
    """The messages that arrive within a time."""
    messages = []
    with suppress(TimeoutError, websockets.ConnectionClosed):
        async with asyncio.timeout(seconds):
            async for message in connection:
                messages.append(message)
    return messages


async def test_sound_in() -> None:
    recorder = Recorder()
    async with agent(recorder) as url, websockets.connect(url, additional_headers=sign()) as connection:
        await connection.send(start())
        await connection.send(json.dumps({"type": "speaker", "source": 2, "participantId": "p-2", "name": "Ada"}))
        mixed, own = tone(440, 1), tone(880, 1)
        for at in range(0, len(mixed), 640):
            await connection.send(binary(mixed[at : at + 640], 0, at // 32))
            await connection.send(binary(own[at : at + 640], 2, at // 32))
            await asyncio.sleep(0.005)
        await connection.send(json.dumps({"type": "speaking", "participantIds": ["p-2"]}))
        await connection.send(json.dumps({"type": "gap", "fromMs": 1000, "toMs": 1020, "lostFrames": 1}))
        await connection.send(json.dumps({"type": "end"}))
        await asyncio.wait_for(recorder.ended.wait(), 10)
        await asyncio.wait_for(connection.wait_closed(), 10)
    users = recorder.of(UserAudioRawFrame)
    mix = [frame for frame in recorder.of(InputAudioRawFrame) if frame not in users]
    assert {frame.user_id for frame in users} == {"p-2"}
    assert pitch(b"".join(frame.audio for frame in mix)) == pytest.approx(440, abs=2)
    assert pitch(b"".join(frame.audio for frame in users)) == pytest.approx(880, abs=2)
    assert users[1].pts == 20_000_000
    assert [frame.message["type"] for frame in recorder.of(InputTransportMessageFrame)] == ["speaker", "speaking", "gap"]
    assert len(recorder.of(EndFrame)) == 1


@pytest.mark.parametrize(("stream_rate", "pipeline_rate"), [(48000, 16000), (8000, 16000), (24000, 16000)])
async def test_sound_in_at_another_rate(stream_rate: int, pipeline_rate: int) -> None:
    recorder = Recorder()
    async with agent(recorder, pipeline_rate) as url, websockets.connect(url, additional_headers=sign()) as connection:
        await connection.send(start(stream_rate))
        pcm, size = tone(440, 1, stream_rate), stream_rate // 25
        for at in range(0, len(pcm), size):
            await connection.send(binary(pcm[at : at + size]))
        await asyncio.sleep(0.3)
    heard = b"".join(frame.audio for frame in recorder.of(InputAudioRawFrame))
    assert {frame.sample_rate for frame in recorder.of(InputAudioRawFrame)} == {pipeline_rate}
    assert pitch(heard, pipeline_rate) == pytest.approx(440, abs=2)
    assert len(heard) / 2 / pipeline_rate == pytest.approx(1, abs=0.06)


@pytest.mark.parametrize("stream_rate", [8000, 16000, 48000])
async def test_voice_out(stream_rate: int) -> None:
    async def speak(recorder: Recorder) -> None:
        voice = tone(600, 1.0, 24000)
        for at in range(0, len(voice), 1998):  # an odd number of samples
            await recorder.push_frame(TTSAudioRawFrame(voice[at : at + 1998], 24000, 1))
        await recorder.push_frame(TTSStoppedFrame())

    async with agent(Recorder(speak)) as url, websockets.connect(url, additional_headers=sign()) as connection:
        await connection.send(start(stream_rate))
        await connection.send(binary(bytes(stream_rate // 2)))  # a resampler holds the first samples back
        first = await asyncio.wait_for(connection.recv(), 5)
        messages = [first, *await receive(connection, 1.5)]
    pcm = b"".join(messages)
    assert max(map(len, messages)) <= stream_rate * 2 / 5
    assert pitch(pcm, stream_rate) == pytest.approx(600, abs=2)
    assert len(pcm) / 2 / stream_rate == pytest.approx(1, abs=0.05)


async def test_interruption_clears() -> None:
    async def speak_and_stop(recorder: Recorder) -> None:
        await recorder.push_frame(TTSAudioRawFrame(tone(600, 5), RATE, 1))
        await asyncio.sleep(0.5)
        await recorder.broadcast_interruption()

    async with agent(Recorder(speak_and_stop)) as url, websockets.connect(url, additional_headers=sign()) as connection:
        await connection.send(start())
        await connection.send(binary(bytes(640)))
        messages = await receive(connection, 3)
    cleared = messages.index('{"type": "clear"}')
    sent = sum(map(len, messages[:cleared])) / 2 / RATE
    assert 0 < sent < 3
    assert sum(map(len, messages[cleared + 1 :])) / 2 / RATE <= 0.04  # the chunk that was being written


async def test_lost_connection_ends_the_pipeline() -> None:
    recorder = Recorder()
    async with agent(recorder) as url:
        async with websockets.connect(url, additional_headers=sign()) as connection:
            await connection.send(start())
            await connection.send(binary(bytes(640)))
            await asyncio.sleep(0.3)
            connection.transport.abort()
        await asyncio.wait_for(recorder.ended.wait(), 10)


async def test_end_of_the_bot_closes_the_stream() -> None:
    async def leave(recorder: Recorder) -> None:
        await recorder.push_frame(EndWorkerFrame())

    async with agent(Recorder(leave)) as url, websockets.connect(url, additional_headers=sign()) as connection:
        await connection.send(start())
        await connection.send(binary(bytes(640)))
        await asyncio.wait_for(connection.wait_closed(), 10)
        assert connection.close_code == 1000


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
    async with agent(Recorder()) as url:
        with pytest.raises(websockets.InvalidStatus) as refused:
            await websockets.connect(url, additional_headers=headers)
    assert refused.value.response.status_code == 401


def test_verify_request() -> None:
    assert verify_request(SECRET, sign())
    rotated = sign()["webhook-signature"] + " " + sign(OTHER)["webhook-signature"]
    assert verify_request(OTHER, sign() | {"webhook-signature": rotated})
    assert not verify_request(SECRET, sign() | {"webhook-signature": "v1,\u00e9\udcff"})
    with pytest.raises(ValueError):
        verify_request("whsec_", sign())


async def test_odd_messages() -> None:
    serializer = StandinFrameSerializer()
    for data in (b"", b"1234567", binary(b""), binary(b"123"), "", "[]", "{", '{"kind": "x"}', "null"):
        assert await serializer.deserialize(data) is None
    assert isinstance(await serializer.deserialize(binary(b"12")), InputAudioRawFrame)
    unknown = await serializer.deserialize('{"type": "speaker", "source": 3, "participantId": null, "name": null}')
    assert isinstance(unknown, InputTransportMessageFrame)
    frame = await serializer.deserialize(binary(b"12", 3))
    assert isinstance(frame, UserAudioRawFrame) and frame.user_id == ""
    assert isinstance(await serializer.deserialize('{"type": "end"}'), EndWorkerFrame)


async def test_serializer_resamples() -> None:
    serializer = StandinFrameSerializer(16000)
    voice = tone(600, 1, 24000)
    sent = [await serializer.serialize(OutputAudioRawFrame(voice[at : at + 960], 24000, 1)) for at in range(0, 48000, 960)]
    pcm = b"".join(message for message in sent if message)
    assert pitch(pcm) == pytest.approx(600, abs=2)
    assert len(pcm) / 32000 == pytest.approx(1, abs=0.05)
    assert await serializer.serialize(InterruptionFrame()) == '{"type": "clear"}'


async def test_agent_repeats_what_it_hears() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = os.environ | {"STANDIN_WEBHOOK_SECRET": SECRET, "PORT": str(port)}
    process = await asyncio.create_subprocess_exec(sys.executable, str(AGENT), env=environment)
    try:
        async with asyncio.timeout(30):
            while True:
                try:
                    connection = await websockets.connect(f"ws://127.0.0.1:{port}/", additional_headers=sign())
                    break
                except OSError:
                    await asyncio.sleep(0.1)
        said = tone(440, 1) + bytes(2 * RATE)
        await connection.send(start())
        receiving = asyncio.create_task(receive(connection, 3.5))
        for at in range(0, len(said), 640):
            await connection.send(binary(said[at : at + 640], 0, at // 32))
            await asyncio.sleep(0.02)
        messages = await receiving
        await connection.send(json.dumps({"type": "end"}))
        await asyncio.wait_for(connection.wait_closed(), 5)
    finally:
        process.terminate()
        await process.wait()
    pcm = b"".join(message for message in messages if isinstance(message, bytes))
    assert pitch(pcm) == pytest.approx(440, abs=2)
    assert len(pcm) / 2 / RATE == pytest.approx(1, abs=0.05)
