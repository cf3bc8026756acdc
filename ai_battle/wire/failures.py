"""Errors of ours as what a client of an API can act on: a status, a kind and words for people."""

from typing import NamedTuple, Protocol

from ..core.errors import (
    AIBattleError,
    BudgetExceeded,
    ConfigError,
    ContextTooLong,
    ProviderError,
    RateLimited,
    Refused,
    TimedOut,
)
from .bodies import TooLarge

PASSED_ON = frozenset((400, 401, 402, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504, 529))
"""Statuses of an upstream that mean the same to our client."""
TOO_LONG = "prompt is too long"  # the words at which agents compact their history


class Failed(Protocol):
    """`kind` is "context", "budget", "address" or "previous_response" where the status alone says too little."""

    @property
    def status(self) -> int: ...
    @property
    def message(self) -> str: ...
    @property
    def kind(self) -> str: ...


class Failure(NamedTuple):
    status: int
    message: str
    kind: str = ""


def failure(error: "AIBattleError | Failed") -> Failed:
    match error:
        case ContextTooLong():
            return Failure(400, worded_as_too_long(str(error)), "context")
        case TooLarge():
            return Failure(413, str(error))
        case ConfigError(about="previous_response_id"):
            return Failure(400, str(error), "previous_response")
        case ConfigError():
            return Failure(400, str(error))
        case BudgetExceeded():
            return Failure(429, str(error), "budget")
        case ProviderError():
            return Failure(_status(error), str(error))
        case AIBattleError():
            return Failure(500, str(error))
    return error


def worded_as_too_long(message: str) -> str:
    return message if TOO_LONG in message.lower() else f"{TOO_LONG}: {message}"


def _status(error: ProviderError) -> int:
    if error.status in PASSED_ON:
        return error.status
    match error:
        case RateLimited():
            return 429
        case TimedOut():
            return 504
        case Refused():
            return 400
    return 502
