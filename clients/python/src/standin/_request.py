"""What the synchronous and the asynchronous client send."""

from __future__ import annotations

import base64
import os
import platform
import re
from collections.abc import Mapping
from datetime import date
from typing import Any
from uuid import UUID

from ._version import __version__
from .errors import StandinError
from .generated.types import Unset


def setting(value: str | None, name: str, variable: str) -> str:
    """Returns an option of a client, by default that of an environment variable."""
    value = value or os.environ.get(variable)
    if not value:
        raise StandinError(f"{name} is missing: give it to the client, or set {variable}")
    return value


def headers(api_key: str) -> dict[str, str]:
    agent = f"standin-python/{__version__} python/{platform.python_version()}"
    return {"Authorization": f"Bearer {api_key}", "User-Agent": agent}


def as_id(value: UUID | str) -> UUID:
    """Returns an ID. Another text could change the path of the request."""
    try:
        return value if isinstance(value, UUID) else UUID(value)
    except ValueError as error:
        raise StandinError(f"{value!r} is not a valid ID") from error


def given(**arguments: Any) -> dict[str, Any]:
    """Returns the arguments that are not None."""
    return {name: value for name, value in arguments.items() if value is not None}


def body(arguments: Mapping[str, Any]) -> Any:
    """Returns the body of a request for a generated function."""
    return _Body(arguments)


class _Body:
    def __init__(self, arguments: Mapping[str, Any]) -> None:
        self._json = _json_of(arguments)

    def to_dict(self) -> Any:
        return self._json


def _json_of(value: Any) -> Any:
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {
            _camel(name): item if name == "metadata" else _json_of(item)  # metadata have names of their own
            for name, item in value.items()
            if not isinstance(item, Unset)
        }
    if isinstance(value, (list, tuple)):
        return [_json_of(item) for item in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, date):  # or datetime
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else value


def _camel(name: str) -> str:
    return re.sub("_([a-z0-9])", lambda letter: letter[1].upper(), name.rstrip("_"))
