"""Options and output schemas as the Messages API takes them. Which options a request may have depends on the model."""

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Literal

from ...core.exchange import ModelRequest
from ..bodies import objects_in, own, present, with_schema_in_words
from ..checks import check_choice
from .blocks import WIRE

CURRENT = "2026-10-21"  # rejects sampling parameters, and documents in the assistant's messages
CLASSIC = "2023-06-01"

MAX_TOKENS = 4_096  # sent if a request has no limit, as the API requires one
# Tokens of thinking by level of reasoning, for the models that take a budget.
BUDGETS = {"minimal": 1_024, "low": 2_048, "medium": 8_192, "high": 16_384, "xhigh": 24_576, "max": 24_576}
SMALLEST_BUDGET = 1_024  # the API's minimum

HIGHEST = {"temperature": 1.0}  # other APIs allow up to 2

_SAMPLING = ("temperature", "top_p", "top_k")
_NUMBERS = ("max_tokens", *_SAMPLING)
_KNOWN_OPTIONS = {*_SAMPLING, "max_tokens", "stop", "reasoning", "parallel_tool_calls", "cache"}
_MODEL = re.compile(r"claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")


def unsupported_options(options: Mapping[str, Any], version: str = CURRENT, model: str = "") -> tuple[str, ...]:
    """Returns the names of given options that a request to `model` omits."""
    given = present(options)
    refused = {name for name in given if name not in _KNOWN_OPTIONS}
    level = given.get("reasoning", "none")
    reasons = level in BUDGETS and _thinks(model) != "never"
    if not reasons and level != "none":
        refused.add("reasoning")
    if reasons or version >= CURRENT:  # the older version rejects sampling parameters only with thinking
        refused.update(_SAMPLING)
    return tuple(name for name in given if name in refused)


def clamped_options(options: Mapping[str, Any], version: str = CURRENT, model: str = "") -> dict[str, float]:
    """Returns the options that exceed this API's limits, with the values that a request to `model` sends instead."""
    dropped = unsupported_options(options, version, model)
    given = {name: options.get(name) for name in HIGHEST if name not in dropped}
    return {name: HIGHEST[name] for name, value in given.items() if value is not None and value > HIGHEST[name]}


def sent_max_tokens(request: ModelRequest, model: str) -> int:
    """Returns the `max_tokens` of a request to `model`, which this API requires."""
    most: int = encode_options(request, model, CURRENT)["max_tokens"]
    return most


def encode_options(request: ModelRequest, model: str, version: str) -> dict[str, Any]:
    """Returns the fields of the body except system prompt, tools and messages."""
    dropped = unsupported_options(request.options, version, model)
    given = {name: value for name, value in present(request.options).items() if name not in dropped}
    given |= clamped_options(request.options, version, model)
    body = _reasoning(given.get("reasoning"), given.get("max_tokens"), model)
    came: dict[str, Any] = own(WIRE, request.extra).get("reasoning", {})
    if came and _level(came) == request.options.get("reasoning"):  # exactly as the client sent it, if unchanged since
        body = {**came, "max_tokens": given.get("max_tokens", MAX_TOKENS)}
    if request.output_schema is not None:
        schema = {"type": "json_schema", "schema": request.output_schema}
        body["output_config"] = {**body.get("output_config", {}), "format": schema}
    if stop := given.get("stop"):
        body["stop_sequences"] = [stop] if isinstance(stop, str) else list(stop)
    return body | {name: given[name] for name in _SAMPLING if name in given} | _tool_choice(request)


def decode_options(body: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the options, and for `extra` the reasoning fields that options can't express."""
    options: dict[str, Any] = {name: body[name] for name in _NUMBERS if body.get(name) is not None}
    if stop := body.get("stop_sequences"):
        options["stop"] = list(stop)
    if (body.get("tool_choice") or {}).get("disable_parallel_tool_use"):
        options["parallel_tool_calls"] = False
    reasoning, extra = _decode_reasoning(body)
    return options | reasoning, extra


def decode_tool_choice(choice: Mapping[str, Any] | None, tools: Collection[str], served: Collection[str]) -> str:
    """Returns the choice, "auto" for a tool that only Anthropic can run. Raises `ConfigError` for an unknown tool."""
    match choice:
        case {"type": "tool", "name": str(name)}:
            check_choice(name, (*tools, *served), "tool_choice.name")
            return name if name in tools else "auto"
        case {"type": "any"}:
            return "required"
        case {"type": "none"}:
            return "none"
    return "auto"


def _tool_choice(request: ModelRequest) -> dict[str, Any]:
    """Returns no field for the API's default, nor without tools, as the API then rejects any choice."""
    one_at_a_time = request.options.get("parallel_tool_calls") is False
    if not request.tools or (request.tool_choice == "auto" and not one_at_a_time):
        return {}
    names = {"auto": "auto", "none": "none", "required": "any"}
    choice: dict[str, Any] = {"type": names.get(request.tool_choice, "tool")}
    if choice["type"] == "tool":
        choice["name"] = request.tool_choice
    if one_at_a_time and choice["type"] != "none":
        choice["disable_parallel_tool_use"] = True
    return {"tool_choice": choice}


def _thinks(model: str) -> Literal["never", "by_budget", "by_effort"]:
    """Returns "by_budget" for Claude 3.7 to 4.5 and other vendors' models, "by_effort" for later Claude models."""
    if "claude" not in model:
        return "by_budget"
    found = _MODEL.search(model)
    number = (int(found[1]), int(found[2] or 0)) if found else (99, 0)
    if number < (3, 7):
        return "never"
    return "by_budget" if number < (4, 6) else "by_effort"


def _reasoning(level: str | None, max_tokens: int | None, model: str) -> dict[str, Any]:
    """Returns `thinking`, `output_config` and `max_tokens`, which includes the tokens of thinking."""
    how, usual = _thinks(model), MAX_TOKENS if max_tokens is None else max_tokens
    if level is None or how == "never":
        return {"max_tokens": usual}
    if level == "none":
        return {"max_tokens": usual, "thinking": {"type": "disabled"}}
    if how == "by_budget":
        return _budget(BUDGETS[level], max_tokens)
    return {
        "max_tokens": max_tokens or MAX_TOKENS + BUDGETS[level],
        "thinking": {"type": "adaptive", "display": "summarized"},
        "output_config": {"effort": "low" if level == "minimal" else level},
    }


def _budget(budget: int, max_tokens: int | None) -> dict[str, Any]:
    """Limits thinking to half of `max_tokens`, but to no less than `SMALLEST_BUDGET`, the API's minimum."""
    room = max(max_tokens, 2 * SMALLEST_BUDGET) if max_tokens else MAX_TOKENS + budget
    if max_tokens:
        budget = max(SMALLEST_BUDGET, min(budget, max_tokens // 2))
    return {"max_tokens": room, "thinking": {"type": "enabled", "budget_tokens": budget}}


def _decode_reasoning(body: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the level of reasoning, and for `extra` the client's fields if the level alone can't restore them."""
    config = {key: value for key, value in (body.get("output_config") or {}).items() if key != "format"}
    came = present({"thinking": body.get("thinking") or None, "output_config": config or None})
    level = _level(came)
    would_be = _reasoning(level, body.get("max_tokens"), body.get("model", ""))
    exact = not came or {**came, "max_tokens": body.get("max_tokens")} == would_be
    return {"reasoning": level} if level else {}, {} if exact else {"reasoning": came}


def _level(came: Mapping[str, Any]) -> str | None:
    effort = came.get("output_config", {}).get("effort")
    match came.get("thinking"):
        case {"type": "disabled" | "between_tools"}:
            return "none"
        case {"type": "enabled", "budget_tokens": int(budget)} if not effort:
            return next((level for level, tokens in BUDGETS.items() if budget <= tokens), "max")
        case {"type": "adaptive"} if not effort:
            return "high"  # what the API does when no effort is given
    return effort if effort in BUDGETS else None


# The API answers "For 'integer' type, property 'minimum' is not supported", and the same for the others.
BOUNDS = (
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "maxItems",
    "uniqueItems", "minProperties", "maxProperties",
)  # fmt: skip


def with_accepted_schema(request: ModelRequest) -> ModelRequest:
    """Returns the request with its objects closed, or with the schema in words if the API would refuse it."""
    if request.output_schema is None:
        return request
    schema = _close_objects(request.output_schema)
    if any(map(_is_refused, objects_in(schema))):
        return with_schema_in_words(request)
    return replace(request, output_schema=schema)


def _close_objects(schema: Any) -> Any:
    """Closes the objects that name their properties and do not say whether there may be others."""
    if isinstance(schema, list):
        return [*map(_close_objects, schema)]
    if not isinstance(schema, Mapping):
        return schema
    made = {name: _close_objects(value) for name, value in schema.items()}
    return {"additionalProperties": False, **made} if made.get("type") == "object" and "properties" in made else made


def _is_refused(schema: Mapping[str, Any]) -> bool:
    """Checks for open objects and bounds, not for properties that are called so. A list may have to have an item."""
    is_open = schema.get("type") == "object" and schema.get("additionalProperties") is not False
    has_bounds = any(isinstance(schema.get(name), int | float) for name in BOUNDS)
    return is_open or has_bounds or schema.get("minItems") not in (None, 0, 1)
