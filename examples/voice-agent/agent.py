"""A voice agent for meetings: it adds up the digits that people say, and stops when somebody interrupts it.

Standin connects to it when the recording starts. The loop is that of Pipecat and LiveKit Agents: find utterances in what
is heard, recognize them, answer, speak. Replace recognize, answer and synthesize by your own.

    pip install websockets
    sudo apt-get install pocketsphinx pocketsphinx-en-us espeak-ng ffmpeg
    STANDIN_WEBHOOK_SECRET=whsec_... python agent.py
"""

import asyncio
import base64
import hmac
import http
import json
import os
import tempfile
import time
import wave
from array import array
from asyncio.subprocess import DEVNULL, PIPE
from collections import deque
from collections.abc import Mapping

from websockets.asyncio.server import ServerConnection, serve
from websockets.http11 import Request, Response

RATE = 16_000  # samples per second: the sampleRate of the stream
FRAME = 0.02  # seconds of sound in a message
FRAME_BYTES = int(RATE * FRAME) * 2
LOUD = 300  # average amplitude of speech
BEGIN = 6  # loud frames that begin an utterance; fewer are a cough or a click
END = 35  # quiet frames that end it
LEAD = 0.2  # seconds of speech that are sent ahead, so that a slow network makes no gaps

DIGITS = "zero one two three four five six seven eight nine".split()
GRAMMAR = f"#JSGF V1.0;\ngrammar digits;\npublic <digits> = ( {' | '.join(DIGITS)} )*;\n"


async def recognize(pcm: bytes) -> str:
    """Speech to text."""
    with tempfile.TemporaryDirectory() as folder:
        with wave.open(f"{folder}/speech.wav", "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(RATE)
            file.writeframes(pcm)
        with open(f"{folder}/digits.gram", "w") as file:
            file.write(GRAMMAR)
        sound, grammar = f"{folder}/speech.wav", f"{folder}/digits.gram"
        heard = await run("pocketsphinx_continuous", "-infile", sound, "-jsgf", grammar)
    return " ".join(word for word in heard.decode().split() if word in DIGITS)


async def answer(text: str) -> str:
    """Text to text: ask a language model here."""
    return f"You said {text}. That makes {sum(DIGITS.index(word) for word in text.split())}."


async def synthesize(text: str) -> bytes:
    """Text to speech."""
    sound = await run("espeak-ng", "--stdout", text)
    return await run("ffmpeg", "-v", "error", "-i", "-", "-ar", str(RATE), "-ac", "1", "-f", "s16le", "-", data=sound)


async def run(*command: str, data: bytes = b"") -> bytes:
    """Runs a program until it ends or the task is cancelled, and returns its output."""
    process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL)
    try:
        return (await process.communicate(data))[0]
    finally:
        if process.returncode is None:
            process.kill()


class Agent:
    """The agent in one meeting."""

    def __init__(self, socket: ServerConnection) -> None:
        self.socket = socket
        self.recent: deque[bytes] = deque(maxlen=BEGIN + 10)  # the beginning of a word is quiet
        self.utterance: list[bytes] = []
        self.loud = self.quiet = 0  # frames in a row
        self.turn: asyncio.Task[None] | None = None  # the agent thinks and speaks

    async def run(self) -> None:
        async for message in self.socket:
            if isinstance(message, bytes):
                await self.hear(message[8:])  # the source and the time are before the samples
            elif json.loads(message)["type"] == "end":
                break
        if self.turn:
            self.turn.cancel()

    async def hear(self, frame: bytes) -> None:
        """Finds utterances. The bot's own voice is not part of what is heard."""
        samples = array("h", frame)
        is_loud = sum(map(abs, samples)) > LOUD * len(samples)
        self.loud, self.quiet = (self.loud + 1, 0) if is_loud else (0, self.quiet + 1)
        self.recent.append(frame)
        if self.utterance:
            self.utterance.append(frame)
            if self.quiet == END:
                pcm, self.utterance = b"".join(self.utterance), []
                self.turn = asyncio.create_task(self.respond(pcm))
        elif self.loud == BEGIN:
            self.utterance = list(self.recent)
            await self.interrupt()

    async def interrupt(self) -> None:
        """Stops at once when somebody else speaks."""
        if self.turn and not self.turn.done():
            self.turn.cancel()
            await self.socket.send(json.dumps({"type": "clear"}))
            print("interrupted", flush=True)

    async def respond(self, pcm: bytes) -> None:
        text = await recognize(pcm)
        if not text:
            return
        print("heard:", text, flush=True)
        reply = await answer(text)
        speech = await synthesize(reply)
        print("says:", reply, flush=True)
        await self.say(speech)

    async def say(self, pcm: bytes) -> None:
        """Sends speech in real time, so that it can be interrupted."""
        clock = asyncio.get_running_loop()
        begin = clock.time() - LEAD
        for at in range(0, len(pcm), FRAME_BYTES):
            await self.socket.send(pcm[at : at + FRAME_BYTES])
            await asyncio.sleep(begin + at / RATE / 2 - clock.time())
        await asyncio.sleep(LEAD)


def signed(headers: Mapping[str, str], secret: str) -> bool:
    """Returns whether a request is Standin's, and new: it is signed like a webhook with an empty body."""
    at = headers.get("webhook-timestamp", "")
    if not at.isdecimal() or abs(time.time() - int(at)) > 300:
        return False
    content = f"{headers.get('webhook-id')}.{at}."
    digest = hmac.digest(base64.b64decode(secret.removeprefix("whsec_")), content.encode(), "sha256")
    wanted = "v1," + base64.b64encode(digest).decode()
    return any(hmac.compare_digest(one, wanted) for one in headers.get("webhook-signature", "").split())


async def main() -> None:
    secret = os.environ["STANDIN_WEBHOOK_SECRET"]

    def check(connection: ServerConnection, request: Request) -> Response | None:
        return None if signed(request.headers, secret) else connection.respond(http.HTTPStatus.UNAUTHORIZED, "")

    async def attend(socket: ServerConnection) -> None:
        await Agent(socket).run()

    host, port = os.environ.get("HOST", "127.0.0.1"), int(os.environ.get("PORT", "8765"))
    async with serve(attend, host, port, process_request=check) as server:
        print(f"waiting on ws://{host}:{server.sockets[0].getsockname()[1]}/", flush=True)
        await server.serve_forever()


asyncio.run(main())
