"""The tree of all errors. Each message names the thing, the place and the way out."""

import os
from asyncio import CancelledError
from contextlib import suppress
from traceback import walk_tb
from types import TracebackType
from typing import Literal

from .events import BudgetReached
from .exchange import ModelResponse

Again = Literal["never", "once", "always"]


class AIBattleError(Exception):
    """The root of all errors that this package raises on purpose."""


class ConfigError(AIBattleError):
    """A configuration, file or call is wrong; nothing was spent yet. `about` is the option at fault."""

    def __init__(self, message: str = "", about: str = "") -> None:
        super().__init__(message)
        self.about = about


class ConfigChanged(ConfigError):
    """The configuration of a run differs from the one it was started with, and the user has not accepted that yet."""


class JournalError(AIBattleError):
    """A run directory can't be written, read or locked."""


class NoSuchRecord(ConfigError, JournalError):
    """The named folder holds no run and no benchmark results."""


class StoreError(ConfigError):
    """A store of evidence can't be opened, read or written."""


class ToolError(AIBattleError):
    """A tool failed; the model gets the text and can react."""


class BudgetExceeded(AIBattleError):
    """A limit on tokens, dollars, seconds or calls leaves no room for what was requested."""

    def __init__(self, message: str = "", reached: BudgetReached | None = None) -> None:
        super().__init__(message)
        self.reached = reached


class JobLost(AIBattleError):
    """A job's process or machine was lost. `spent_usd` is the most that it may have cost, 0 if unknown."""

    def __init__(self, message: str = "", spent_usd: float = 0.0) -> None:
        super().__init__(message)
        self.spent_usd = spent_usd


class CutShort(AIBattleError):
    """Raised by a listener to stop reading an answer. `text` and `thinking` are what has arrived."""

    def __init__(self, message: str, text: str = "", thinking: str = "") -> None:
        super().__init__(message)
        self.text = text
        self.thinking = thinking


class ProviderError(AIBattleError):
    """A model did not answer.

    `again` says how often the same request may be sent again, `retry_after` after how many seconds. `partial` is the
    text that arrived before the fault, `raw` the head of a body that could not be parsed. `response` is set if there
    was an answer but it was empty.
    """

    response: ModelResponse | None = None

    def __init__(
        self,
        message: str,
        *,
        again: Again = "never",
        status: int | None = None,
        retry_after: float | None = None,
        partial: str = "",
        raw: str = "",
        request_id: str = "",
    ) -> None:
        super().__init__(message)
        self.again = again
        self.status = status
        self.retry_after = retry_after
        self.partial = partial
        self.raw = raw
        self.request_id = request_id


class RateLimited(ProviderError):
    """The provider asks to come back later, or its quota is used up."""


class Unreachable(ProviderError):
    """No connection was made, or it broke: refused, reset, or no answer in time."""


class TimedOut(Unreachable):
    """A timeout expired; the message names it."""


class BadReply(ProviderError):
    """The reply can't be used as an answer: cut off, malformed, empty, or not from a model API."""


class EmptyAnswer(BadReply):
    """The model answered without any content."""


class Refused(ProviderError):
    """The model or its provider declined to answer; `partial` is what it said instead."""


class Unscripted(ProviderError):
    """A script or a recording has no answer to this request, and never will."""


class ContextTooLong(ProviderError):
    """The request does not fit the model's context window."""


def failure_kind(error: AIBattleError) -> str | None:
    """Returns the kind of a failed call for logs and metrics, or None if the call brought an answer."""
    match error:
        case BudgetExceeded():
            return "budget"
        case TimedOut():
            return "timeout"
        case ProviderError(status=int(status)):
            return f"http_{status}"
        case Unreachable():
            return "connection"
        case BadReply() if not isinstance(error, EmptyAnswer):
            return "bad_reply"
    return None


# Ours, or meant for whoever runs the program. Panics of Rust extensions are BaseExceptions too, but neither of these.
UNTRANSLATED = (AIBattleError, KeyboardInterrupt, SystemExit, GeneratorExit, CancelledError)


def error_text(error: BaseException | None) -> str:
    """Returns the text of an exception, or "" if its `__str__` fails."""
    with suppress(Exception):
        return str(error)
    return ""


_INSTALLED = tuple(os.path.dirname(file) for file in (os.__file__, os.path.dirname(__file__)))
_PACKAGES = ("site-packages", "dist-packages")


def _own_line(trace: TracebackType | None) -> str:
    """Returns the last line of the user's own code that an exception came through, as the end of a message."""
    lines = ((frame.f_code.co_filename, number) for frame, number in walk_tb(trace))
    own = [
        f" ({os.path.basename(file)}, line {number})"
        for file, number in lines
        if os.path.isabs(file) and not file.startswith(_INSTALLED) and not any(name in file for name in _PACKAGES)
    ]
    return own[-1] if own else ""


class translate_errors:  # noqa: N801 - used like contextlib.suppress
    """Turns any foreign exception of a plug-in, a tool or a listener into `raises("what: ...")`, with its line."""

    __slots__ = ("_raises", "_what")

    def __init__(self, what: str, raises: type[AIBattleError]) -> None:
        self._what = what
        self._raises = raises

    def __enter__(self) -> None:
        """Keeps no state, so that one instance can guard any number of calls, also concurrent ones."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error and not isinstance(error, UNTRANSLATED):
            said = f"{type(error).__name__}: {error_text(error)}{_own_line(error.__traceback__)}"
            raise self._raises(f"{self._what}: {said}") from error
