"""One line of JSON for each request, on stderr or wherever it is told to go."""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pydantic_core import to_json

from ..config.mask import Mask
from ..core.errors import ConfigError
from ..core.plugins import near
from .tally import LEFT, Tally

Write: TypeAlias = Callable[[bytes], object]
LEVELS = ("debug", "info", "warning", "error", "critical")
NOTHING_SECRET = Mask({})


def level_of(said: str) -> str:
    """Raises `ConfigError`."""
    level = said.strip().lower() or "info"
    if level not in LEVELS:
        raise ConfigError(f"LOG_LEVEL is one of {', '.join(LEVELS)}, not {said!r}{near(level, [*LEVELS])}")
    return level


@dataclass(frozen=True, slots=True)
class RequestLog:
    """`mask` keeps secrets out, also out of content, which is only there when it was asked for."""

    write: Write = field(default=len)
    level: str = "info"
    mask: Mask = NOTHING_SECRET

    def tell(self, tally: Tally) -> None:
        level = _level(tally)
        if LEVELS.index(level) >= LEVELS.index(self.level):
            with suppress(OSError):  # nobody reads the log any more: no reason to answer nobody
                self.write(self.mask.line(to_json(_fields(tally, level))) + b"\n")


def _level(tally: Tally) -> str:
    if tally.status == LEFT or tally.status < 400:
        return "info"
    return "warning" if tally.status < 500 else "error"


def _fields(tally: Tally, level: str) -> Mapping[str, Any]:
    told = {
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "level": level,
        "request_id": tally.request_id,
        "api": tally.api,
        "key": tally.holder.name,
        "model": tally.model,
        "route": tally.route.name if tally.route else "",
        "strategy": tally.route.strategy if tally.route else "",
        "stream": tally.stream,
        "status": tally.status,
        "seconds": round(tally.seconds, 4),
        "first_token_seconds": None if tally.first_token is None else round(tally.first_token, 4),
        "input_tokens": tally.usage.input_tokens,
        "output_tokens": tally.usage.output_tokens,
        "cost_usd": tally.usage.cost_usd,
        "helped": tally.helped,
        "loops": len(tally.outcomes),
        "error": tally.error,
        "reason": tally.reason,
        **tally.content,
    }
    return {name: value for name, value in told.items() if value not in (None, "")}
