"""A request's options as Google's `generationConfig` and `toolConfig`, both ways."""

import re
from collections.abc import Mapping
from typing import Any

from ...core.exchange import ModelRequest
from .._extra import own
from .._shape import ANY_OBJECT, present
from .parts import WIRE

NAMES = {
    "temperature": "temperature",
    "top_p": "topP",
    "top_k": "topK",
    "max_tokens": "maxOutputTokens",
    "stop": "stopSequences",
    "seed": "seed",
    "presence_penalty": "presencePenalty",
    "frequency_penalty": "frequencyPenalty",
}
KNOWN = {*NAMES, "reasoning", "cache"}  # prompts are cached without being asked to
READ = {*NAMES.values(), "thinkingConfig", "responseMimeType", "responseJsonSchema"}

BUDGETS = {"none": 0, "minimal": 512, "low": 1_024, "medium": 8_192, "high": 24_576}
SMALLEST_BUDGET = 128  # of the models that can't stop thinking
LEVELS = {"none": "MINIMAL", "minimal": "MINIMAL", "low": "LOW", "medium": "MEDIUM", "high": "HIGH"}
MODES = {"none": "NONE", "required": "ANY", "auto": "AUTO"}

GENERATION = re.compile(r"gemini-(\d+)(?:\.(\d+))?")


def generation(model: str) -> tuple[int, int]:
    """(2, 5) for `gemini-2.5-flash`; names without a number (`gemini-flash-latest`) are the newest."""
    found = GENERATION.search(model)
    return (int(found[1]), int(found[2] or 0)) if found else (99, 0)


def unsupported(options: Mapping[str, Any], model: str = "") -> tuple[str, ...]:
    """The options that are set and that a request to `model` leaves out."""
    given = present(options)
    return tuple(
        name for name in given if name not in KNOWN or (name == "reasoning" and not _takes(given[name], model))
    )


def encode_config(request: ModelRequest, model: str) -> dict[str, Any]:
    extra = own(WIRE, request.extra)
    given = present(request.options)
    config = dict(extra.get("generationConfig", {}))
    config |= {NAMES[name]: value for name, value in given.items() if name in NAMES and value != []}
    if isinstance(config.get("stopSequences"), str):
        config["stopSequences"] = [config["stopSequences"]]
    if thinking := _encode_thinking(given.get("reasoning"), model, extra.get("thinkingConfig")):
        config["thinkingConfig"] = thinking
    if request.output_schema is not None:
        config["responseMimeType"] = "application/json"
        if request.output_schema != ANY_OBJECT:
            config["responseJsonSchema"] = request.output_schema
    return {"generationConfig": config} if config else {}


def decode_config(config: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The options, and what of the configuration goes to `extra` because options can't say it."""
    options = {name: config[field] for name, field in NAMES.items() if config.get(field) is not None}
    reasoning, extra = _decode_thinking(config.get("thinkingConfig") or {})
    known = READ if config.get("responseJsonSchema") is not None else READ - {"responseMimeType"}
    if rest := {field: value for field, value in config.items() if field not in known}:
        extra["generationConfig"] = rest
    return options | reasoning, extra


def encode_choice(request: ModelRequest) -> dict[str, Any]:
    if not request.tools or request.tool_choice == "auto":
        return {}
    calling: dict[str, Any] = {"mode": MODES.get(request.tool_choice, "ANY")}
    if request.tool_choice not in MODES:
        calling["allowedFunctionNames"] = [request.tool_choice]
    return {"toolConfig": {"functionCallingConfig": calling}}


def decode_choice(config: Mapping[str, Any] | None) -> str:
    match (config or {}).get("functionCallingConfig"):
        case {"mode": "ANY", "allowedFunctionNames": [str(name)]}:
            return name
        case {"mode": "ANY"}:
            return "required"
        case {"mode": "NONE"}:
            return "none"
    return "auto"


def _takes(level: str, model: str) -> bool:
    """Models before 2.5 do not think."""
    return level in BUDGETS and (level == "none" or generation(model) >= (2, 5))


def _encode_thinking(level: str | None, model: str, came: Any) -> Any:
    """`came` are a client's own words, which stand as long as nobody has changed the option since."""
    if came and _level(came) == level:
        return came
    return _thinking(level, model) if level and _takes(level, model) else {}


def _decode_thinking(came: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    level = _level(came)
    exact = not came or came in [_thinking(level, model) for model in ("gemini-3", "gemini-2.5-flash") if level]
    return {"reasoning": level} if level else {}, {} if exact else {"thinkingConfig": came}


def _thinking(level: str, model: str) -> dict[str, Any]:
    """Gemini 3 takes a level, 2.5 a budget; the large ones always think a little."""
    always = "-pro" in model
    shown = {} if level == "none" else {"includeThoughts": True}
    if generation(model) >= (3, 0):
        return {"thinkingLevel": "LOW" if always and LEVELS[level] == "MINIMAL" else LEVELS[level], **shown}
    if generation(model) < (2, 5):
        return {}
    return {"thinkingBudget": max(BUDGETS[level], SMALLEST_BUDGET if always else 0), **shown}


def _level(came: Mapping[str, Any]) -> str | None:
    match came:
        case {"thinkingLevel": str(name)}:
            level = name.lower()
            if level == "minimal" and not came.get("includeThoughts"):
                return "none"
            return level if level in BUDGETS else "high"
        case {"thinkingBudget": int(budget)} if budget >= 0:
            return next((level for level, tokens in BUDGETS.items() if budget <= tokens), "high")
    return None
