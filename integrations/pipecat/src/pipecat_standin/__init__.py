"""Pipecat agents in online meetings, through Standin."""

from .serializer import StandinFrameSerializer
from .transport import StandinTransport, create_app, serve
from .verify import verify_request

__all__ = ["StandinFrameSerializer", "StandinTransport", "create_app", "serve", "verify_request"]
