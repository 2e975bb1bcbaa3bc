"""LiveKit agents in online meetings, through Standin."""

from livekit.agents import Plugin

from .audio import StandinAudioInput, StandinAudioOutput
from .log import logger
from .stream import StandinStream, create_app, serve
from .verify import verify_request
from .version import __version__

__all__ = [
    "StandinAudioInput",
    "StandinAudioOutput",
    "StandinStream",
    "__version__",
    "create_app",
    "serve",
    "verify_request",
]


class StandinPlugin(Plugin):
    def __init__(self) -> None:
        super().__init__(__name__, __version__, __package__ or __name__, logger)


Plugin.register_plugin(StandinPlugin())
