"""The types of arguments and of the dicts in them, made from the API description. Times need a time zone."""

from .generated.params import *  # noqa: F403
