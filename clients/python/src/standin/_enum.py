"""Enumerations of values to which later versions of the service may add."""

from __future__ import annotations

from enum import Enum, IntEnum


class OpenEnum(str, Enum):
    """A text. One that this version does not know has no name of its own, and is equal to its text."""

    @classmethod
    def _missing_(cls, value: object) -> OpenEnum | None:
        if not isinstance(value, str):
            return None
        unknown = str.__new__(cls, value)
        unknown._name_ = unknown._value_ = value
        return unknown

    def __str__(self) -> str:
        return str(self.value)


class OpenIntEnum(IntEnum):
    """A number. One that this version does not know has no name of its own, and is equal to its number."""

    @classmethod
    def _missing_(cls, value: object) -> OpenIntEnum | None:
        if not isinstance(value, int):
            return None
        unknown = int.__new__(cls, value)
        unknown._name_, unknown._value_ = str(value), value
        return unknown

    def __str__(self) -> str:
        return str(self.value)
