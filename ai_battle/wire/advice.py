"""The advisor tools of Anthropic and OpenRouter: a client's tool entry, and the blocks of questions and advice."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from secrets import token_hex
from typing import Any

from ..core.errors import ConfigError
from ..core.exchange import ModelRequest
from ..core.messages import Message, Part, Text
from .bodies import decode_piece, own, present
from .checks import ObjectShape, ShapeError, TaggedShape, check, flag, list_of, number, object_, one_of, positive, text

ANTHROPIC_TOOL, OPENROUTER_TOOL = "advisor_20260301", "openrouter:advisor"
TYPES = (ANTHROPIC_TOOL, OPENROUTER_TOOL)
SIGNS = tuple(type_.encode() for type_ in TYPES)
CALL_BLOCK, RESULT_BLOCK = "server_tool_use", "advisor_tool_result"
LEAST_TOKENS = 1_024  # max_tokens counts the advisor's thinking too, which a lower limit would cut off
OPTIONS = {"max_completion_tokens": "max_tokens", "temperature": "temperature"}
SHORTEST = "5m"
"""How long a prompt is cached if the client asks for a cache without naming a time."""
NEWEST = "~"
"""OpenRouter's prefix for a model name that means the newest model of its line."""


def _require_tokens(value: Any) -> None:
    positive(value)
    if value < LEAST_TOKENS:
        raise ShapeError(f"must be {LEAST_TOKENS} or more, since it limits the advisor's thinking too")


def _server_tool(value: Any) -> None:
    object_(value)
    if value.get("type") in (None, "function", OPENROUTER_TOOL):
        raise ShapeError("must be a tool that a server runs: an advisor can't call functions or another advisor")


_ANTHROPIC = ObjectShape(
    {
        "name!": one_of("advisor"),
        "model!": text,
        "max_uses": positive,
        "max_tokens": _require_tokens,
        "caching": {"type": text, "ttl": one_of("5m", "1h")},
        "allowed_callers": [text],
        "defer_loading": flag,
        "strict": flag,
    }
)
_PARAMETERS = {
    **dict.fromkeys(("name", "model", "instructions"), text),
    "max_completion_tokens": positive,
    "temperature": number,
    "forward_transcript": flag,
    "reasoning": {"effort": text},
    "tools": [_server_tool],
}
_ENTRY = TaggedShape("type", {ANTHROPIC_TOOL: _ANTHROPIC, OPENROUTER_TOOL: {"parameters": _PARAMETERS}}, otherwise="")
_ENTRIES = list_of(lambda tool: _ENTRY(tool) if is_advisor(tool) else None)
ITEM = {**dict.fromkeys(("id", "advice", "error", "prompt", "model"), text), "status": text}
"""The Responses API's item, which holds a question together with its advice."""

_CONTENTS = TaggedShape(
    "type",
    {
        "advisor_result": {"text!": text},
        "advisor_redacted_result": {"encrypted_content!": text},
        "advisor_tool_result_error": {"error_code!": text},
    },
)
RESULT = {"tool_use_id!": text, "content!": _CONTENTS}
"""The Messages API's block for the answer to a question: advice, encrypted advice or an error."""


@dataclass(frozen=True, slots=True)
class AdvisorEntry:
    """An advisor that a client's tools define: its `model` and the limits on asking it.

    The worker picks one of several by `name`. `options` are sent with each request to the advisor, and `ttl` says how
    long its prompt is cached. If `sees_conversation` is false, it gets only the worker's question. `shows_question`
    says whether the client's block contains the question; Anthropic's clients expect that field to be empty.
    """

    type: str
    place: str
    model: str = ""
    name: str = ""
    max_uses: int | None = None
    instructions: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    ttl: str = ""
    sees_conversation: bool = True

    @property
    def shows_question(self) -> bool:
        return self.type == OPENROUTER_TOOL


def with_cache_mark(part: Text, ttl: str) -> Text:
    """Marks the text as the end of the prefix that the Messages API caches for `ttl`; other APIs cache unasked."""
    return replace(part, extra={**part.extra, "anthropic": {"cache_control": {"type": "ephemeral", "ttl": ttl}}})


def is_advisor(tool: Any) -> bool:
    return isinstance(tool, dict) and tool.get("type") in TYPES


def decode_entries(tools: Any) -> tuple[AdvisorEntry, ...]:
    """Returns the advisors among a client's tools (values or raw JSON), except those that only code may call.

    Raises `ConfigError` naming the place of an invalid entry.
    """
    if isinstance(tools, bytes):
        tools = decode_piece(tools) if any(sign in tools for sign in SIGNS) else ()
    if not isinstance(tools, list):
        return ()
    check(tools, _ENTRIES, "tools")
    entries = tuple(_decode_entry(tool, f"tools[{n}]") for n, tool in enumerate(tools) if _is_callable(tool))
    _check_names(entries)
    return entries


def _check_names(entries: Iterable[AdvisorEntry]) -> None:
    names: set[str] = set()
    for entry in entries:
        if entry.name in names:
            why = f"have the name {entry.name!r}" if entry.name else "have no name"
            way = f"bring one, or each as {OPENROUTER_TOOL} with a name of its own"
            raise ConfigError(f"{entry.place}: two advisors {why}, by which the model chooses; {way}.")
        names.add(entry.name)


def _is_callable(tool: Any) -> bool:
    return is_advisor(tool) and "direct" in (tool.get("allowed_callers") or ("direct",))


def _decode_entry(tool: Mapping[str, Any], place: str) -> AdvisorEntry:
    if tool["type"] == ANTHROPIC_TOOL:
        options, caching = present({"max_tokens": tool.get("max_tokens")}), tool.get("caching")
        ttl = caching.get("ttl") or SHORTEST if caching else ""
        return AdvisorEntry(ANTHROPIC_TOOL, place, tool["model"], "", tool.get("max_uses"), "", options, ttl)
    parameters = present(tool.get("parameters") or {})
    name, model = parameters.get("name", "").strip(), parameters.get("model", "").removeprefix(NEWEST)
    options = {ours: parameters[theirs] for theirs, ours in OPTIONS.items() if theirs in parameters}
    options |= {"reasoning": effort} if (effort := parameters.get("reasoning", {}).get("effort")) else {}
    entry = AdvisorEntry(OPENROUTER_TOOL, place, model, name, None, parameters.get("instructions", ""), options)
    return replace(entry, sees_conversation=parameters.get("forward_transcript", True))


def forces_question(tool_choice: Any) -> bool:
    """Returns whether a client's `tool_choice` forces a call of its advisor."""
    match tool_choice:
        case {"type": "tool", "name": "advisor"} | {"type": "openrouter:advisor"}:
            return True
    return False


def without_entries(request: ModelRequest) -> ModelRequest:
    """Removes the advisors' entries from the tools that only an API has."""
    extra = dict(request.extra)
    for wire in ("anthropic", "openai"):
        served = own(wire, extra)
        if "tools" in served:
            extra[wire] = {**served, "tools": [tool for tool in served["tools"] if not is_advisor(tool)]}
    return replace(request, extra=extra)


@dataclass(frozen=True, slots=True)
class Consultation:
    """A question to an advisor (`asks`), its result (`content`, as in the Messages API's result block), or both."""

    id: str
    asks: bool
    content: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Returns the advice, empty after an error. Raises `ConfigError` if it is encrypted or of an unknown type."""
        match self.content:
            case {"type": "advisor_result", "text": str(text)}:
                return text
            case {"type": "advisor_tool_result_error"}:
                return ""
            case {"type": "advisor_redacted_result"}:
                why = "is encrypted, so only the server that made it can read it; remove it and its question"
                raise ConfigError(f"The advisor_redacted_result of {self.id[:80]!r} {why}.")
        raise ConfigError(f"The advisor_tool_result of {self.id[:80]!r} has an unknown type.")

    def require_readable(self) -> None:
        """Raises `ConfigError` for advice that only another server can read."""
        _ = self.text if self.content else ""


def consultation_in(part: Part) -> Consultation | None:
    """Returns the consultation that a part of a client's message holds, in the Messages or the Responses API."""
    if not part.extra:
        return None
    match own("anthropic", part.extra).get("block"):
        case {"type": "server_tool_use", "name": "advisor", "id": str(id_)}:
            return Consultation(id_, asks=True)
        case {"type": "advisor_tool_result", "tool_use_id": str(id_), "content": dict(content)}:
            return Consultation(id_, asks=False, content=content)
    item = own("responses", part.extra).get("item") or {}
    return _consultation_of(item) if item.get("type") == OPENROUTER_TOOL else None


def consultations_in(messages: Iterable[Message]) -> Iterator[Consultation]:
    for message in messages:
        for part in message.parts:
            if found := consultation_in(part):
                yield found


def _consultation_of(item: Mapping[str, Any]) -> Consultation:
    content = {"type": "advisor_tool_result_error", "error_code": "unavailable"}
    if item.get("advice"):
        content = {"type": "advisor_result", "text": item["advice"]}
    return Consultation(item.get("id") or token_hex(12), asks=True, content=content)


def advice_words(advice: str) -> str:
    """Returns advice as plain text, for models without an advisor tool."""
    return f"Advice of an advisor: {advice}\n\n" if advice else ""


def question_part(id_: str, question: str) -> Text:
    """Returns the Messages API's block for a question; other APIs show the question together with its advice."""
    fields = {"prompt": question} if question else {}
    return Text("", extra={"anthropic": {"block": {"type": CALL_BLOCK, "id": id_, "name": "advisor", "input": fields}}})


def advice_part(id_: str, question: str, model: str, content: Mapping[str, Any]) -> Text:
    """Returns a question's result as a Messages API block and as a Responses API item."""
    block = {"type": RESULT_BLOCK, "tool_use_id": id_, "content": dict(content)}
    came = {"advice": content["text"]} if "text" in content else {"error": content["error_code"]}
    status = "completed" if "text" in content else "failed"
    item = {"type": OPENROUTER_TOOL, "status": status, "model": model, "prompt": question, **came}
    return Text("", extra={"anthropic": {"block": block}, "responses": {"item": item}})
