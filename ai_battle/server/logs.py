"""The server's log: a line of JSON for each request, and for other events."""

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
from .metrics import CLIENT_LEFT, RequestStats, place_of

LEVELS = ("debug", "info", "warning", "error", "critical")
RANKS = {level: rank for rank, level in enumerate(LEVELS)}
Write: TypeAlias = Callable[[bytes], object]


def log_level(written: str) -> str:
    """Returns the normalized level. Raises `ConfigError`."""
    level = written.strip().lower() or "info"
    if level not in LEVELS:
        raise ConfigError(f"LOG_LEVEL is one of {', '.join(LEVELS)}, not {written!r}{near(level, [*LEVELS])}")
    return level


@dataclass(frozen=True, slots=True)
class RequestLog:
    """Writes log lines. `redactor` removes secrets, also from content, which is logged only on request.

    `worker` is the number of one of several workers.
    """

    write: Write = field(default=len)
    worker: int = 0
    level: str = "info"
    redactor: Redactor = NO_SECRETS

    def log_request(self, stats: RequestStats) -> None:
        level = "warning" if stats.help_failed else "info"
        if stats.status >= 400 and stats.status != CLIENT_LEFT:
            level = "warning" if stats.status < 500 else "error"
        self._write(level, lambda: self.redactor.line(to_json({**self._head(level), **_log_fields(stats)})))

    def _head(self, level: str) -> Mapping[str, Any]:
        worker = {"worker": self.worker} if self.worker else {}
        return {"time": _timestamp(int(time.time())), "level": level, **worker}

    def log_connection(self, error: BaseException | None) -> None:
        """Logs a connection without a valid request, and none of its content; any other error is a bug here."""
        is_theirs = isinstance(error, HttpProcessingError)
        level = "warning" if is_theirs else "error"
        reason = "A connection sent something that is not an HTTP request." if is_theirs else place_of(error)
        fields = {**self._head(level), "error": type(error).__name__, "reason": reason}
        self._write(level, lambda: to_json(fields))

    def log_warning(self, reason: str) -> None:
        self._log("warning", {"reason": reason})

    def log_notice(self, route: str, notice: str) -> None:
        self._log("info", {"route": route, "notice": notice})

    def _log(self, level: str, fields: Mapping[str, str]) -> None:
        self._write(level, lambda: self.redactor.line(to_json({**self._head(level), **fields})))

    def _write(self, level: str, line: Callable[[], bytes]) -> None:
        if RANKS[level] >= RANKS[self.level]:
            with suppress(OSError):  # a log that nobody reads any more must not stop the server
                self.write(line() + b"\n")


class ConnectionLog(Handler):
    """Forwards aiohttp's own log to ours; `log` returns the current one, as a reload replaces it."""

    def __init__(self, log: Callable[[], RequestLog]) -> None:
        super().__init__()
        self._log = log

    @property
    def logger(self) -> Logger:
        """A separate logger, as several servers may run in one process."""
        logger = Logger("connections")
        logger.addHandler(self)
        return logger

    def emit(self, record: LogRecord) -> None:
        """Logs an error, unless a body could not be read: its request has a line already."""
        error = record.exc_info[1] if record.exc_info else None
        if not isinstance(error, RequestPayloadError):
            self._log().log_connection(error)


@lru_cache(maxsize=1)
def _timestamp(second: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(second))


def _log_fields(stats: RequestStats) -> Mapping[str, Any]:
    fields = {
        "request_id": stats.request_id,
        "api": stats.api,
        "key": stats.holder.name,
        "model": stats.model,
        "route": stats.route.name if stats.route else "",
        "strategy": stats.route.strategy if stats.route else "",
        "stream": stats.stream,
        "status": stats.status,
        "seconds": round(stats.seconds, 4),
        "first_token_seconds": None if stats.first_token is None else round(stats.first_token, 4),
        "input_tokens": stats.usage.input_tokens,
        "output_tokens": stats.usage.output_tokens,
        "cost_usd": stats.usage.cost_usd,
        "helped": stats.has_help,
        "loops": len(stats.outcomes),
        "boost": ", ".join(stats.outcomes),
        "help_failed": ", ".join(stats.help_failed),
        "error": stats.error,
        "reason": stats.reason,
        **stats.content,
    }
    return {name: value for name, value in fields.items() if value not in (None, "")}
