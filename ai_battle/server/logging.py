"""One line of JSON for each request, on stderr or wherever it is told to go."""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from logging import Handler, Logger, LogRecord
from typing import Any, TypeAlias

from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.web import RequestPayloadError
from pydantic_core import to_json

from ..core.errors import ConfigError
from ..core.plugins import near
from ..core.redaction import NO_SECRETS, Redactor
from .tally import LEFT, Tally, place_of

Write: TypeAlias = Callable[[bytes], object]
LEVELS = ("debug", "info", "warning", "error", "critical")
RANKS = {level: rank for rank, level in enumerate(LEVELS)}


def level_of(said: str) -> str:
    """Raises `ConfigError`."""
    level = said.strip().lower() or "info"
    if level not in LEVELS:
        raise ConfigError(f"LOG_LEVEL is one of {', '.join(LEVELS)}, not {said!r}{near(level, [*LEVELS])}")
    return level


@dataclass(frozen=True, slots=True)
class RequestLog:
    """`redactor` keeps secrets out, also out of content, which is only there when it was asked for."""

    write: Write = field(default=len)
    level: str = "info"
    redactor: Redactor = NO_SECRETS

    def tell(self, tally: Tally) -> None:
        level = _level(tally)
        if RANKS[level] >= RANKS[self.level]:
            with suppress(OSError):  # nobody reads the log any more: no reason to answer nobody
                self.write(self.redactor.line(to_json(_fields(tally, level))) + b"\n")

    def tell_of_connection(self, error: BaseException | None) -> None:
        """What came over it was no request, of which not a word is told; all else is a mistake of this program."""
        is_theirs = isinstance(error, HttpProcessingError)
        level = "warning" if is_theirs else "error"
        if RANKS[level] >= RANKS[self.level]:
            reason = "What came over a connection is no HTTP request." if is_theirs else place_of(error)
            told = {"time": _now(), "level": level, "error": type(error).__name__, "reason": reason}
            with suppress(OSError):
                self.write(to_json(told) + b"\n")


class Connections(Handler):
    """Between aiohttp's own log and ours; `log` gives the one that holds at present."""

    def __init__(self, log: Callable[[], RequestLog]) -> None:
        super().__init__()
        self._log = log

    @property
    def logger(self) -> Logger:
        """Of its own, as several servers may run in one process."""
        logger = Logger("connections")
        logger.addHandler(self)
        return logger

    def emit(self, record: LogRecord) -> None:
        """The rest of a body that could not be read: its request has its line."""
        error = record.exc_info[1] if record.exc_info else None
        if not isinstance(error, RequestPayloadError):
            self._log().tell_of_connection(error)


def _now() -> str:
    return _second(int(time.time()))


@lru_cache(maxsize=1)
def _second(at: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


def _level(tally: Tally) -> str:
    if tally.status == LEFT or tally.status < 400:
        return "warning" if tally.help_failed else "info"
    return "warning" if tally.status < 500 else "error"


def _fields(tally: Tally, level: str) -> Mapping[str, Any]:
    told = {
        "time": _now(),
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
        "boost": ", ".join(tally.outcomes),
        "help_failed": ", ".join(tally.help_failed),
        "error": tally.error,
        "reason": tally.reason,
        **tally.content,
    }
    return {name: value for name, value in told.items() if value not in (None, "")}
