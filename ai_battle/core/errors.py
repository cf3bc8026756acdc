"""Everything that can go wrong, as one tree; each message names the thing, the place and the way out."""

from asyncio import CancelledError
from contextlib import suppress
from types import TracebackType
from typing import Literal

from .events import BudgetReached
from .exchange import ModelResponse

Again = Literal["never", "once", "always"]


class AIBattleError(Exception):
    """The root of all errors that this package raises on purpose."""


class ConfigError(AIBattleError):
    """A configuration, a file or a call that is wrong; nothing was spent yet. `about` is the option that is."""

    def __init__(self, message: str = "", about: str = "") -> None:
        super().__init__(message)
        self.about = about


class ConfigChanged(ConfigError):
    """The configuration of a run is another one than it was started with, and nobody has accepted that yet."""


class JournalError(AIBattleError):
    """A run directory that can't be written, read or locked."""


class NoSuchRecord(ConfigError, JournalError):
    """A folder was named that holds no run, or no results of a benchmark."""


class StoreError(ConfigError):
    """A store of evidence that can't be opened, read or written."""


class ToolError(AIBattleError):
    """A tool that failed; the model gets the text and can react."""


class BudgetExceeded(AIBattleError):
    """A limit on tokens, dollars, seconds or calls does not leave room for what was wanted."""

    def __init__(self, message: str = "", reached: BudgetReached | None = None) -> None:
        super().__init__(message)
        self.reached = reached


class JobLost(AIBattleError):
    """A job whose process or machine was lost; `spent_usd` is the most that it may have cost, where that is known."""

    def __init__(self, message: str = "", spent_usd: float = 0.0) -> None:
        super().__init__(message)
        self.spent_usd = spent_usd


class CutShort(AIBattleError):
    """Raised by a listener that has heard enough: the answer is not read to its end. What came is in it."""

    def __init__(self, message: str, text: str = "", thinking: str = "") -> None:
        super().__init__(message)
        self.text = text
        self.thinking = thinking


class ProviderError(AIBattleError):
    """A model that did not answer.

    `again` says how often the same request may be sent anew, `retry_after` when (seconds), `partial` is the text that
    came before the fault, `raw` the head of the body that could not be read. `response` is the answer, where there is
    one and it is empty.
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
    """No connection, or none that lasted: refused, reset, no answer in time."""


class TimedOut(Unreachable):
    """A clock ran out; the message names it."""


class BadReply(ProviderError):
    """The answer can't be taken for one: cut off, malformed, empty, or not from a model API."""


class EmptyAnswer(BadReply):
    """The model has answered, and said nothing."""


class Refused(ProviderError):
    """The model or its provider declined to answer; `partial` is what it said instead."""


class Unscripted(ProviderError):
    """A script or a recording has no answer to this request, nor will it have one later."""


class ContextTooLong(ProviderError):
    """The request does not fit the model's context window."""


# Ours, or meant for whoever runs the program; a panic of Rust or C++ code below a plug-in is neither.
PASSED_ON = (AIBattleError, KeyboardInterrupt, SystemExit, GeneratorExit, CancelledError)


def error_text(error: BaseException | None) -> str:
    """Returns what an exception says; nothing, where even that fails."""
    with suppress(Exception):
        return str(error)
    return ""


class translate_errors:  # noqa: N801 - used like contextlib.suppress
    """Around a plug-in, a tool or a listener: any exception that is not ours becomes `raises(what: ...)`."""

    __slots__ = ("_raises", "_what")

    def __init__(self, what: str, raises: type[AIBattleError]) -> None:
        self._what = what
        self._raises = raises

    def __enter__(self) -> None:
        """Opens nothing, so that one instance can guard any number of calls, also at once."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error and not isinstance(error, PASSED_ON):
            raise self._raises(f"{self._what}: {type(error).__name__}: {error_text(error)}") from error
