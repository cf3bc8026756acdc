"""Checked configuration to live clients: the only room that knows every mechanism."""

from .building import Assembled, build
from .checking import check, named_code
from .direct import direct
from .models import Model, create_client
from .surroundings import NO_TAPES, Patience, Surroundings, Tapes

__all__ = [
    "NO_TAPES",
    "Assembled",
    "Model",
    "Patience",
    "Surroundings",
    "Tapes",
    "build",
    "check",
    "create_client",
    "direct",
    "named_code",
]
