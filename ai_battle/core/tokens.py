"""How many tokens a text is, estimated: providers' vocabularies are not at hand, what they reported before is."""

from collections.abc import Iterable

from .exchange import ModelRequest
from .messages import Document, Image, Message, Part, Text, Thinking, ToolCall, ToolResult

CHARACTERS_PER_TOKEN = 3.6
TOKENS_PER_MESSAGE = 6
TOKENS_PER_IMAGE = 1_200
_KEPT_AS = "tokens"


def estimate_text(text: str, characters_per_token: float = CHARACTERS_PER_TOKEN) -> int:
    """Rounded up; text outside of ASCII counts one token a character, as most vocabularies do at worst."""
    beyond_ascii = 0 if text.isascii() else sum(character > "\u024f" for character in text)
    return int((len(text) - beyond_ascii) / characters_per_token + beyond_ascii) + 1 if text else 0


def estimate_message(message: Message, characters_per_token: float = CHARACTERS_PER_TOKEN) -> int:
    """By the usual number of characters once for each message: a long conversation sends the same ones again."""
    if characters_per_token != CHARACTERS_PER_TOKEN:
        return _estimate_parts(message.parts, characters_per_token) + TOKENS_PER_MESSAGE
    if _KEPT_AS not in message.encoded:
        message.encoded[_KEPT_AS] = b"%d" % (_estimate_parts(message.parts, characters_per_token) + TOKENS_PER_MESSAGE)
    return int(message.encoded[_KEPT_AS])


def estimate_request(request: ModelRequest, characters_per_token: float = CHARACTERS_PER_TOKEN) -> int:
    """All that the model has to read: system prompt, tools and messages."""
    tools = "".join(f"{tool.name} {tool.description} {tool.schema}" for tool in request.tools)
    said = sum(estimate_message(message, characters_per_token) for message in request.messages)
    return estimate_text(request.system + tools, characters_per_token) + said


def _estimate_part(part: Part, characters_per_token: float) -> int:
    match part:
        case Text(text) | Thinking(text):
            return estimate_text(text, characters_per_token)
        case ToolCall(name, arguments):
            return estimate_text(f"{name}{dict(arguments)}", characters_per_token)
        case ToolResult(_, parts):
            return _estimate_parts(parts, characters_per_token)
        case Image():
            return TOKENS_PER_IMAGE
        case Document(data=data):
            return len(data) // 4


def _estimate_parts(parts: Iterable[Part], characters_per_token: float) -> int:
    return sum(_estimate_part(part, characters_per_token) for part in parts)
