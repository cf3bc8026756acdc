"""The tree of all errors. Each message names the thing, the place and the way out."""

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
