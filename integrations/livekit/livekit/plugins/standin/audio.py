"""Sound of a Standin stream as input and output of an AgentSession."""

import asyncio
import json
import time
from collections.abc import Callable
from contextlib import suppress

from livekit import rtc
from livekit.agents.voice import io

BUFFER_FRAMES = 100  # two seconds
CHUNK = 0.04  # seconds of sound in a message
LEAD = 0.2  # seconds of speech that are sent ahead, so that a slow network makes no gaps


class StandinAudioInput(io.AudioInput):
    """The sound of a meeting. If it is not read, the oldest of more than two seconds is dropped."""

    def __init__(self) -> None:
        super().__init__(label="Standin")
        self._frames: asyncio.Queue[rtc.AudioFrame | None] = asyncio.Queue(BUFFER_FRAMES)

    async def __anext__(self) -> rtc.AudioFrame:
        frame = await self._frames.get()
        if frame is None:
            self.push(None)  # for whoever else reads
            raise StopAsyncIteration
        return frame

    def push(self, frame: rtc.AudioFrame | None) -> None:
        """Adds a frame, or the end."""
        if self._frames.full():
            self._frames.get_nowait()
        self._frames.put_nowait(frame)


class StandinAudioOutput(io.AudioOutput):
    """The voice of the bot.

    It sends a segment in real time and counts what was sent as played when its time is over. It cannot know the time
    that the way to the meeting takes, which is added to each position.
    """

    def __init__(self, sample_rate: int, send: Callable[[str | bytes], None]) -> None:
        super().__init__(label="Standin", capabilities=io.AudioOutputCapabilities(pause=True), sample_rate=sample_rate)
        self._send = send
        self._rate = sample_rate
        self._segment = bytearray()
        self._sent = 0  # bytes of the segment
        self._dry_at = 0.0  # when everything sent will have been played
        self._started = self._flushed = self._interrupted = self._paused = self._closed = False
        self._changed = asyncio.Event()  # one of the above
        self._playback: asyncio.Task[None] | None = None

    async def capture_frame(self, frame: rtc.AudioFrame) -> None:
        if frame.sample_rate != self._rate or frame.num_channels != 1:
            raise ValueError(f"the stream needs mono sound with {self._rate} samples per second")
        while self._flushed and self._playback:
            await asyncio.wait([self._playback])  # one segment at a time
        await super().capture_frame(frame)
        if self._playback is None:
            self._interrupted = self._closed
            self._playback = asyncio.create_task(self._play())
        if not self._interrupted:
            self._segment += frame.data.cast("B")
        self._changed.set()

    def flush(self) -> None:
        super().flush()
        self._flushed = self._playback is not None
        self._changed.set()

    def clear_buffer(self) -> None:
        self._discard_unplayed()
        del self._segment[self._sent :]
        self._interrupted = self._playback is not None
        self._changed.set()

    def pause(self) -> None:
        super().pause()
        self._paused = True
        self._discard_unplayed()
        self._changed.set()

    def resume(self) -> None:
        super().resume()
        self._paused = False
        self._changed.set()

    def close(self) -> None:
        """Interrupts the current segment and all that follow, because the stream has ended."""
        self._closed = True
        self.clear_buffer()

    def _discard_unplayed(self) -> None:
        """Lets the bot forget what it was sent and has not played, and counts it as not sent."""
        unplayed = max(0.0, self._dry_at - time.monotonic())
        self._sent = max(0, self._sent - 2 * round(unplayed * self._rate))
        self._dry_at = 0.0
        self._send(json.dumps({"type": "clear"}))

    async def _play(self) -> None:
        """Sends a segment in real time, and reports when it was played to its end, or interrupted."""
        chunk_size = 2 * round(CHUNK * self._rate)
        while not self._interrupted:
            self._changed.clear()
            now = time.monotonic()
            ahead = self._dry_at - now
            unsent = not self._paused and self._sent < len(self._segment)
            if unsent and ahead < LEAD:
                chunk = bytes(self._segment[self._sent : self._sent + chunk_size])
                self._send(chunk)
                self._sent += len(chunk)
                self._dry_at = max(self._dry_at, now) + len(chunk) / 2 / self._rate
                if not self._started:
                    self._started = True
                    self.on_playback_started(created_at=time.time())
            elif unsent:
                await self._wait(ahead - LEAD)
            elif not self._flushed or self._sent < len(self._segment):
                await self._wait(None)
            elif ahead > 0:
                await self._wait(ahead)
            else:
                break
        while not self._flushed:  # what comes after an interruption belongs to the same segment
            self._changed.clear()
            await self._wait(None)
        position, interrupted = self._sent / 2 / self._rate, self._interrupted
        self._segment.clear()
        self._sent, self._started, self._flushed, self._interrupted, self._playback = 0, False, False, False, None
        self.on_playback_finished(playback_position=position, interrupted=interrupted)

    async def _wait(self, seconds: float | None) -> None:
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._changed.wait(), seconds)
