"""How many tokens a text is, estimated: providers' vocabularies are not at hand, what they reported before is."""

from collections.abc import Iterable
from math import ceil

from .exchange import ModelRequest
from .messages import Document, Image, Message, Part, PrefixCache, Text, Thinking, ToolCall, ToolResult, file_of

CHARACTERS_PER_TOKEN = 3.6
TOKENS_PER_MESSAGE = 6
_KEPT_AS = "tokens"
TOKENS_PER_IMAGE = 1_200
"""Of a picture whose size nobody knows."""
TOKENS_PER_PAGE, TOKENS_PER_PAGE_OF, TOKENS_PER_SECOND = 3_000, {"gemini": 258}, 300
"""Of a PDF that is read as it is (Anthropic: 1,500 to 3,000 of text, and a picture of the page), and of a video."""
PATCH, TILE = 28, 768


def estimate_text(text: str, characters_per_token: float = CHARACTERS_PER_TOKEN) -> int:
    """Rounded up; text outside of ASCII counts one token a character, as most vocabularies do at worst."""
    beyond_ascii = 0 if text.isascii() else sum(character > "\u024f" for character in text)
    return int((len(text) - beyond_ascii) / characters_per_token + beyond_ascii) + 1 if text else 0


def estimate_message(message: Message, characters_per_token: float = CHARACTERS_PER_TOKEN, provider: str = "") -> int:
    """Returns the tokens by the usual number of characters, once for each message, as conversations send them again."""
    if provider or characters_per_token != CHARACTERS_PER_TOKEN:
        return estimate_parts(message.parts, characters_per_token, provider) + TOKENS_PER_MESSAGE
    if _KEPT_AS not in message.encoded:
        message.encoded[_KEPT_AS] = b"%d" % (estimate_parts(message.parts) + TOKENS_PER_MESSAGE)
    return int(message.encoded[_KEPT_AS])


def estimate_request(
    request: ModelRequest, characters_per_token: float = CHARACTERS_PER_TOKEN, provider: str = ""
) -> int:
    """Returns the tokens that a model has to read: system prompt, tools, messages, and files as its provider counts."""
    said = sum(estimate_message(message, characters_per_token, provider) for message in request.messages)
    return _estimate_fixed(request, characters_per_token) + said


class TokenEstimator:
    """Estimates requests as `estimate_request` does; of a talk that goes on it looks at what is new."""

    def __init__(self) -> None:
        self._said = PrefixCache(0, lambda tokens, new: tokens + sum(map(estimate_message, new)))

    def estimate(self, request: ModelRequest) -> int:
        return _estimate_fixed(request, CHARACTERS_PER_TOKEN) + self._said.value(request.messages)


def _estimate_fixed(request: ModelRequest, characters_per_token: float) -> int:
    tools = "".join(f"{tool.name} {tool.description} {tool.schema}" for tool in request.tools)
    return estimate_text(request.system + tools, characters_per_token)


def estimate_parts(
    parts: Iterable[Part], characters_per_token: float = CHARACTERS_PER_TOKEN, provider: str = ""
) -> int:
    return sum(_estimate_part(part, characters_per_token, provider) for part in parts)


def _estimate_part(part: Part, characters_per_token: float, provider: str) -> int:
    match part:
        case Text(text) | Thinking(text):
            return estimate_text(text, characters_per_token)
        case ToolCall(name, arguments):
            return estimate_text(f"{name}{dict(arguments)}", characters_per_token)
        case ToolResult(_, parts):
            return estimate_parts(parts, characters_per_token, provider)
        case Image():
            width, height = file_of(part).get("size", (0, 0))
            return picture_tokens(width, height, provider) if width else TOKENS_PER_IMAGE
        case Document():
            known = file_of(part)
            per_page = TOKENS_PER_PAGE_OF.get(provider, TOKENS_PER_PAGE)
            as_read = known.get("pages", 0) * per_page + int(known.get("seconds", 0) * TOKENS_PER_SECOND)
            return as_read or len(part.data) // 4


def picture_tokens(width: int, height: int, provider: str = "") -> int:
    """Tokens of a picture of so many pixels, by what its provider says; for others as Anthropic counts.

    Anthropic: one for each 28x28 patch (platform.claude.com/docs/en/build-with-claude/vision). OpenAI: fitted into
    2,048 px and 768 px on the shorter side, 85 and 170 for each tile of 512 px (platform.openai.com/docs/guides/images,
    the tile models). Gemini: 258 where no side has more than 384 px, else 258 for each tile of 768 px
    (ai.google.dev/gemini-api/docs/tokens).
    """
    if provider == "openai":
        scale = min(1, 2048 / max(width, height), 768 / min(width, height))
        return 85 + 170 * ceil(width * scale / 512) * ceil(height * scale / 512)
    if provider == "gemini":
        return 258 if max(width, height) <= 384 else 258 * ceil(width / TILE) * ceil(height / TILE)
    return ceil(width / PATCH) * ceil(height / PATCH)
