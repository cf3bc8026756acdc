"""What servers say of their models, each in its own words, read into ours."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Says = Mapping[str, Any]
LISTS = {"anthropic": "/v1/models?limit=1000", "gemini": "/v1beta/models?pageSize=1000", "ollama": "/api/tags"}


@dataclass(frozen=True, slots=True)
class Listed:
    """A model that a provider offers; `says` are those of its capabilities that the list itself tells."""

    name: str
    says: Says = field(default_factory=dict)


def listed(provider: str, body: Mapping[str, Any]) -> tuple[Listed, ...]:
    """The models of an answer to `GET .../models` or `/api/tags`; rows that name no model are left out."""
    entries = body.get("models" if provider in ("gemini", "ollama") else "data")
    rows = [entry for entry in entries if isinstance(entry, Mapping)] if isinstance(entries, list) else []
    return tuple(Listed(name, said(provider, row)) for row in rows if (name := _name(row)))


def said(provider: str, row: Mapping[str, Any]) -> Says:
    """The capabilities that a row tells, without those that it leaves open."""
    read = {"anthropic": _anthropic, "gemini": _gemini, "ollama": _ollama}.get(provider, _open_ai_like)
    return {name: value for name, value in read(row) if isinstance(value, bool) or value}


def _name(row: Mapping[str, Any]) -> str:
    name = row.get("id") or row.get("model") or row.get("name")
    return name.removeprefix("models/") if isinstance(name, str) else ""


def _ollama(row: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    """Of `POST /api/show`; the rows of `/api/tags` tell none of this."""
    if isinstance(can := row.get("capabilities"), list):
        yield from (("tools", "tools" in can), ("images", "vision" in can), ("reasoning", "thinking" in can))
    described = _mapping(row, "model_info")
    yield "context_window", next((described[key] for key in described if key.endswith(".context_length")), None)


def _anthropic(row: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    yield "context_window", row.get("max_input_tokens")
    yield "max_output_tokens", row.get("max_tokens")
    can = _mapping(row, "capabilities")
    ours = {"images": "image_input", "documents": "pdf_input", "json_schema": "structured_outputs"}
    for name, theirs in {**ours, "reasoning": "thinking"}.items():
        yield name, _mapping(can, theirs).get("supported")


def _gemini(row: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    yield "context_window", row.get("inputTokenLimit")
    yield "max_output_tokens", row.get("outputTokenLimit")
    yield "reasoning", row.get("thinking")


def _open_ai_like(row: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    """OpenRouter tells much, vLLM, llama.cpp, Groq and LM Studio their windows, OpenAI nothing."""
    meta = _mapping(row, "meta")
    windows = ("context_length", "context_window", "max_model_len", "loaded_context_length", "max_context_length")
    yield "context_window", next((row[key] for key in windows if row.get(key)), meta.get("n_ctx"))
    yield (
        "max_output_tokens",
        row.get("max_completion_tokens") or _mapping(row, "top_provider").get("max_completion_tokens"),
    )
    if isinstance(reads := _mapping(row, "architecture").get("input_modalities"), list):
        yield from (("images", "image" in reads), ("documents", "file" in reads))
    if isinstance(takes := row.get("supported_parameters"), list):
        yield from (("tools", "tools" in takes), ("reasoning", "reasoning" in takes))
        yield "json_schema", "structured_outputs" in takes


def _mapping(row: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = row.get(key)
    return value if isinstance(value, Mapping) else {}
