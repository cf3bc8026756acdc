"""Estimates token counts, since the providers' tokenizers are not available here."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import ceil

from .exchange import ModelRequest
from .messages import Document, Image, Message, Part, PrefixCache, Text, Thinking, ToolCall, ToolResult, file_of

CHARACTERS_PER_TOKEN = 3.6
TOKENS_PER_MESSAGE = 6
_CACHE_KEY = "tokens"
TOKENS_PER_IMAGE = 1_200
"""Used when the size of a picture is unknown."""
TOKENS_PER_SECOND = 300
"""Tokens per second of video."""
_PATCH = 28


def _patches(width: int, height: int) -> int:
    return ceil(width / _PATCH) * ceil(height / _PATCH)


@dataclass(frozen=True, slots=True)
class FileTokens:
    """The token counts of files for a model: a picture by its width and height in pixels, a PDF by the page.

    The defaults follow Anthropic: one token for each 28x28 patch
    (platform.claude.com/docs/en/build-with-claude/vision), and for each page 1,500 to 3,000 plus a picture of it.
    """

    picture: Callable[[int, int], int] = _patches
    page: int = 3_000


USUAL_FILES = FileTokens()


def estimate_text(text: str, characters_per_token: float = CHARACTERS_PER_TOKEN) -> int:
    """Returns the estimate, rounded up. Characters beyond Latin count one token each, the usual worst case."""
    beyond_ascii = 0 if text.isascii() else sum(character > "\u024f" for character in text)
    return int((len(text) - beyond_ascii) / characters_per_token + beyond_ascii) + 1 if text else 0


def estimate_message(
    message: Message, characters_per_token: float = CHARACTERS_PER_TOKEN, files: FileTokens = USUAL_FILES
) -> int:
    """Returns the estimated tokens of a message; with the default settings it is computed once per message."""
    if files is not USUAL_FILES or characters_per_token != CHARACTERS_PER_TOKEN:
        return estimate_parts(message.parts, characters_per_token, files) + TOKENS_PER_MESSAGE
    # Conversations send the same messages again in every turn, so the estimate is kept next to the encoded bytes.
    if _CACHE_KEY not in message.encoded:
        message.encoded[_CACHE_KEY] = b"%d" % (estimate_parts(message.parts) + TOKENS_PER_MESSAGE)
    return int(message.encoded[_CACHE_KEY])


def estimate_request(
    request: ModelRequest, characters_per_token: float = CHARACTERS_PER_TOKEN, files: FileTokens = USUAL_FILES
) -> int:
    """Returns the tokens that a model has to read: system prompt, tools, messages, and files by its own count."""
    tokens = sum(estimate_message(message, characters_per_token, files) for message in request.messages)
    return _estimate_fixed(request, characters_per_token) + tokens


class TokenEstimator:
    """Estimates requests as `estimate_request` does, but looks only at the new messages of a growing conversation."""

    def __init__(self) -> None:
        self._message_tokens = PrefixCache(0, lambda tokens, new: tokens + sum(map(estimate_message, new)))

    def estimate(self, request: ModelRequest) -> int:
        return _estimate_fixed(request, CHARACTERS_PER_TOKEN) + self._message_tokens.value(request.messages)


def _estimate_fixed(request: ModelRequest, characters_per_token: float) -> int:
    tools = "".join(f"{tool.name} {tool.description} {tool.schema}" for tool in request.tools)
    return estimate_text(request.system + tools, characters_per_token)


def estimate_parts(
    parts: Iterable[Part], characters_per_token: float = CHARACTERS_PER_TOKEN, files: FileTokens = USUAL_FILES
) -> int:
    return sum(_estimate_part(part, characters_per_token, files) for part in parts)


def _estimate_part(part: Part, characters_per_token: float, files: FileTokens) -> int:
    match part:
        case Text(text) | Thinking(text):
            return estimate_text(text, characters_per_token)
        case ToolCall(name, arguments):
            return estimate_text(f"{name}{dict(arguments)}", characters_per_token)
        case ToolResult(_, parts):
            return estimate_parts(parts, characters_per_token, files)
        case Image():
            width, height = file_of(part).get("size", (0, 0))
            return files.picture(width, height) if width else TOKENS_PER_IMAGE
        case Document():
            known = file_of(part)
            as_read = known.get("pages", 0) * files.page + int(known.get("seconds", 0) * TOKENS_PER_SECOND)
            return as_read or len(part.data) // 4
