"""How calls are written in text: each form is a file of this folder, named by `tool_format`."""

from collections.abc import Iterable
from typing import Protocol

from ...core import plugins
from ...core.errors import ConfigError
from ...core.exchange import ToolSpec
from ...core.messages import ToolCall

FORMATS = "ai_battle.tools.formats"
USUAL = "fenced"


class Dialect(Protocol):
    """A form in which a model is told to call. Whatever form it then uses is read."""

    def describe(self, tools: Iterable[ToolSpec]) -> str:
        """What the system prompt says of the tools, and of the form of a call."""

    def write(self, call: ToolCall) -> str:
        """A call of an earlier turn, as the model is to write one."""


def names() -> list[str]:
    return [name for name in plugins.names(FORMATS) if _is_dialect(plugins.load(FORMATS, name))]


def dialect(name: str) -> Dialect:
    """The form of that name, or the usual one; raises `ConfigError` with near names."""
    if name and name not in names():
        raise ConfigError(f"There is no tool_format {name!r}{plugins.near(name, names())}")
    found: Dialect = plugins.load(FORMATS, name or USUAL)
    return found


def _is_dialect(found: object) -> bool:
    return callable(getattr(found, "describe", None)) and callable(getattr(found, "write", None))
