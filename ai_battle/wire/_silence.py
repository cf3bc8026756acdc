"""What it means, on every wire, when an answer has neither a text nor a call of a tool."""

from collections.abc import Mapping
from typing import Any

from ..core.errors import EmptyAnswer, ProviderError, Refused
from ..core.exchange import ModelResponse
from ..core.messages import Message, Part, Text, Thinking

WHOLE = frozenset({"type", "block", "part"})  # in `extra`: a part that our values have no name for
CONTENT = frozenset({"audio", "images", "function_call"})  # in the `extra` of a message: content beside its parts


def heard(response: ModelResponse, reason: str = "") -> ModelResponse:
    """The answer, when it says something; `reason` is the provider's own for a silence. Raises `ProviderError`."""
    if says_something(response.message):
        return response
    error = _silence(response, reason)
    error.response = response
    raise error


def says_something(message: Message) -> bool:
    """Thinking alone is no answer."""
    return any(map(_is_said, message.parts)) or _has(CONTENT, message.extra)


def empty(after: str = "no text, no tool call") -> EmptyAnswer:
    return EmptyAnswer(f"The answer is empty: {after}.", again="once")


def _silence(response: ModelResponse, reason: str) -> ProviderError:
    match response.stop:
        case "refusal":
            return Refused(reason or "The model refused to answer, without a word.")
        case "content_filter":
            return Refused(reason or "A content filter held the whole answer back.")
        case "length":
            return _used_up(response)
    return empty("the model thought, and then said nothing") if response.message.thinking else empty()


def _used_up(response: ModelResponse) -> EmptyAnswer:
    """Asked again with the same limit, the model would only be cut again."""
    tokens = response.usage.output_tokens
    limit = f"the limit of {tokens} tokens" if tokens else "the token limit"
    thought = response.message.thinking or response.usage.reasoning_tokens
    cause = f"thinking used up {limit}" if thought else f"{limit} was reached before the first word"
    return EmptyAnswer(f"The answer is empty: {cause}. Raise max_tokens or lower reasoning.")


def _is_said(part: Part) -> bool:
    match part:
        case Text(text):
            return (bool(text) and not text.isspace()) or _has(WHOLE, part.extra)
        case Thinking():
            return False
    return True


def _has(names: frozenset[str], extra: Mapping[str, Any]) -> bool:
    return any(names & fields.keys() for fields in extra.values())
