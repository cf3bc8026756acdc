"""Tools of the Responses API: functions, functions inside of namespaces, and custom tools that take a text."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...core.exchange import ModelRequest, ToolSpec
from .._checks import check_choice
from .._extra import own
from .._schema_shape import without_nulls

WIRE = "responses"
LONGEST = 64
NO_PARAMETERS: Mapping[str, Any] = {"type": "object", "properties": {}}
TAKES_TEXT: Mapping[str, Any] = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Told:
    """How the client knows a tool that an upstream knows by its flat name."""

    name: str
    namespace: str = ""
    is_custom: bool = False


def flat_name(name: str, namespace: str) -> str:
    """The same for the same two, so that earlier calls and the tools agree; never longer than upstreams allow."""
    if not namespace:
        return name
    flat = f"{namespace.rstrip('_')}__{name}"
    if len(flat) <= LONGEST:
        return flat
    return f"{flat[: LONGEST - 9]}_{hashlib.sha256(flat.encode()).hexdigest()[:8]}"


def decode_tools(tools: Iterable[Mapping[str, Any]]) -> Iterator[ToolSpec]:
    """Those that the client runs; what OpenAI runs itself (web search, code) is left out."""
    for tool in tools:
        if tool["type"] == "namespace":
            yield from (_decode(inner, tool["name"]) for inner in tool["tools"] if _is_ours(inner))
        elif _is_ours(tool):
            yield _decode(tool, "")


def decode_choice(choice: Any, names: frozenset[str]) -> tuple[str, frozenset[str]]:
    """What is to be called, and which tools there are to choose from. Raises `ConfigError` for one that nobody offers.

    One of those that OpenAI runs itself nobody else can be told to call.
    """
    match choice:
        case "none" | "required":
            return choice, names
        case {"type": "function" | "custom"}:
            check_choice(_flat(choice), names, "tool_choice.name")
            return _flat(choice), names
        case {"type": "allowed_tools", "tools": list(tools)}:
            return choice.get("mode") or "auto", names & frozenset(map(_flat, tools))
    return "auto", names


def _flat(tool: Mapping[str, Any]) -> str:
    return flat_name(tool.get("name") or "", tool.get("namespace") or "")


def known_to_client(request: ModelRequest | None) -> dict[str, Told]:
    """By the flat names of those that need it."""
    told = {tool.name: own(WIRE, tool.extra) for tool in (request.tools if request else ())}
    return {flat: Told(extra["name"], extra["namespace"], extra["custom"]) for flat, extra in told.items() if extra}


def _is_ours(tool: Mapping[str, Any]) -> bool:
    return tool["type"] in ("function", "custom")


def _decode(tool: Mapping[str, Any], namespace: str) -> ToolSpec:
    name, is_custom = tool["name"], tool["type"] == "custom"
    extra: dict[str, Any] = {}
    if namespace or is_custom:
        extra[WIRE] = {"name": name, "namespace": namespace, "custom": is_custom}
    if tool.get("strict"):
        extra["openai"] = {"strict": True}
    schema = TAKES_TEXT if is_custom else without_nulls(tool.get("parameters")) or NO_PARAMETERS
    return ToolSpec(flat_name(name, namespace), _description(tool), schema, extra=extra)


def _description(tool: Mapping[str, Any]) -> str:
    """A grammar that its text must fit is told in words: nobody else enforces one."""
    form = tool.get("format")
    grammar = form.get("definition") if isinstance(form, Mapping) else None
    told: str = tool.get("description") or ""
    return f"{told}\n\nThe input must fit this grammar:\n{grammar}".strip() if grammar else told
