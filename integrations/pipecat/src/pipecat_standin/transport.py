"""Connections of Standin to a FastAPI application."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from typing import Any, Self

import uvicorn
from fastapi import FastAPI, HTTPException, WebSocket
from pipecat.frames.frames import EndWorkerFrame
from pipecat.transports.websocket.fastapi import FastAPIWebsocketParams, FastAPIWebsocketTransport

from .serializer import StandinFrameSerializer
from .verify import verify_request

START_TIMEOUT = 10  # seconds until Standin has sent its first message


class StandinTransport(FastAPIWebsocketTransport):
    """Pipecat's FastAPI WebSocket transport for one connection of Standin.

    The pipeline ends when the stream ends, and when the connection is lost. Standin connects again after a lost
    connection, and that connection is a new stream.
    """

    def __init__(self, websocket: WebSocket, start: dict[str, Any], **params: Any) -> None:
        """start is the first message of the stream. params are those of FastAPIWebsocketParams."""
        rate = start["sampleRate"]
        defaults = {
            "audio_in_enabled": True,
            "audio_out_enabled": True,
            "audio_out_sample_rate": rate,
            "serializer": StandinFrameSerializer(rate),
        }
        super().__init__(websocket, FastAPIWebsocketParams(**(defaults | params)))
        self.start = start

    @classmethod
    async def accept(cls, websocket: WebSocket, secret: str, **params: Any) -> Self:
        """Verifies the signature of a connection request, accepts it, and reads the first message.

        Raises HTTPException, which FastAPI sends as the response 401, if Standin did not send the request in the last
        five minutes.
        """
        if not verify_request(secret, websocket.headers):
            raise HTTPException(401, "Missing or invalid signature.")
        await websocket.accept()
        start = json.loads(await asyncio.wait_for(websocket.receive_text(), START_TIMEOUT))
        return cls(websocket, start, **params)

    async def _on_client_disconnected(self, websocket: WebSocket) -> None:
        await super()._on_client_disconnected(websocket)
        await self.input().push_frame(EndWorkerFrame(reason="the connection was closed"))


def create_app(bot: Callable[[StandinTransport], Awaitable[None]], secret: str) -> FastAPI:
    """Creates an application that runs bot for each stream. The stream ends when bot returns."""
    verify_request(secret, {})  # raises now if the secret is unusable
    app = FastAPI(openapi_url=None)

    @app.websocket("/")
    async def stream(websocket: WebSocket) -> None:
        await bot(await StandinTransport.accept(websocket, secret))

    return app


def serve(
    bot: Callable[[StandinTransport], Awaitable[None]],
    *,
    secret: str | None = None,
    host: str | None = None,
    port: int | None = None,
) -> None:
    """Runs bot for each stream until the process is interrupted.

    secret, host and port default to the environment variables STANDIN_WEBHOOK_SECRET, HOST and PORT, and host and
    port then to 127.0.0.1 and 9002.
    """
    app = create_app(bot, secret or os.environ["STANDIN_WEBHOOK_SECRET"])
    uvicorn.run(app, host=host or os.environ.get("HOST", "127.0.0.1"), port=port or int(os.environ.get("PORT", "9002")))
