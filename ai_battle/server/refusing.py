"""Requests that are turned away, and how a client is told why nothing came."""

from ..core.errors import AIBattleError, BudgetExceeded, ProviderError
from ..wire.failures import Failed, Failure, failure
from .routes import NoRoute


class Denied(AIBattleError):
    """Turned away before any model is asked, with an HTTP `status`; `retry_after` is in seconds."""

    def __init__(self, status: int, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after


class Crashed(AIBattleError):
    """A mistake of this program; its cause says where."""


class Left(AIBattleError):
    """The client has gone, so nobody can be told anything."""


class BrokenOff(AIBattleError):
    """What a client has read of a stream turned out to be no answer, and can't be taken back.

    No provider's error, so that no strategy takes it for a helper's failure and goes on.
    """

    def __init__(self, cause: ProviderError) -> None:
        super().__init__(str(cause))
        self.cause = cause


def said(error: AIBattleError) -> Failed:
    """The status, the kind and the words for a client."""
    match error:
        case Denied():
            return Failure(error.status, str(error))
        case NoRoute():
            return Failure(404, str(error))
        case BrokenOff(cause=cause):
            return failure(cause)
    return failure(error)


def headers_of(error: AIBattleError) -> dict[str, str]:
    """When to come back, where that is known; a budget comes back for nobody."""
    if isinstance(error, BudgetExceeded):
        return {"x-should-retry": "false"}
    wait = error.retry_after if isinstance(error, Denied | ProviderError) else None
    return {} if wait is None else {"retry-after": f"{wait:g}"}
