"""The types of requests and responses, made from the API description."""

from .generated.models import *  # noqa: F403
from .generated.models import __all__ as _all
from .generated.types import UNSET as UNSET
from .generated.types import Unset as Unset

__all__ = (*_all, "UNSET", "Unset")
