"""What a model can do, and who says so: the file, refusals, the server now, or a table."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from ._names import ModelName
from ._prices import context_window
from ._refusals import RefusalMemory

KNOWN_ON = "2026-11-20"

_ALL = {"tools": True, "images": True, "json_schema": True, "reasoning": True}
_READING = {**_ALL, "documents": True}
_NO_REASONING = {**_ALL, "reasoning": False}
_TOOLS = {"tools": True, "images": False, "reasoning": False, "json_schema": True}
_THINKING_TOOLS = {**_TOOLS, "reasoning": True}
_TEXT = {**_TOOLS, "tools": False}
_PICTURES = {**_TEXT, "images": True}

TABLE: tuple[tuple[str, dict[str, bool]], ...] = (
    ("openai/gpt-4o*", _NO_REASONING),
    ("openai/gpt-4.1*", _NO_REASONING),
    ("openai/gpt-*", _ALL),
    ("openai/o[0-9]*", _ALL),
    ("anthropic/claude-*", _READING),
    ("gemini/gemini-*", _READING),
    ("groq/openai/gpt-oss*", _THINKING_TOOLS),
    ("ollama/gpt-oss*", _THINKING_TOOLS),
    ("ollama/qwen3-vl*", _ALL),
    ("ollama/qwen3*", _THINKING_TOOLS),
    ("ollama/qwen2.5vl*", _PICTURES),
    ("ollama/qwen2.5*", _TOOLS),
    ("ollama/llama3.2-vision*", _PICTURES),
    ("ollama/llama3.[1-3]*", _TOOLS),
    ("ollama/llama4*", _NO_REASONING),
    ("ollama/mistral-small3*", _NO_REASONING),
    ("ollama/mistral*", _TOOLS),
    ("ollama/phi4-mini*", _TOOLS),
    ("ollama/phi4*", _TEXT),
    ("ollama/gemma3?1b*", _TEXT),
    ("ollama/gemma3*", _PICTURES),
    ("ollama/gemma2*", _TEXT),
    ("ollama/deepseek-r1*", {**_TEXT, "reasoning": True}),
    ("ollama/llava*", _PICTURES),
)


Says = Mapping[str, Any]
LISTS = {"anthropic": "/v1/models?limit=1000", "gemini": "/v1beta/models?pageSize=1000", "ollama": "/api/tags"}


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model that a provider offers; `says` are those of its capabilities that the list itself tells."""

    name: str
    says: Says = field(default_factory=dict)


def model_list(provider: str, body: Mapping[str, Any]) -> tuple[ListedModel, ...]:
    """The models of an answer to `GET .../models` or `/api/tags`; rows that name no model are left out."""
    entries = body.get("models" if provider in ("gemini", "ollama") else "data")
    rows = [entry for entry in entries if isinstance(entry, Mapping)] if isinstance(entries, list) else []
    return tuple(ListedModel(name, row_capabilities(provider, row)) for row in rows if (name := _name(row)))


def row_capabilities(provider: str, row: Mapping[str, Any]) -> Says:
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


NAMES = ("tools", "images", "documents", "reasoning", "json_schema", "context_window", "max_output_tokens")


@dataclass(frozen=True, slots=True)
class KnownValue:
    """A capability and who says so."""

    value: Any
    source: str


@dataclass(frozen=True, slots=True)
class ModelCapabilities:
    """What is not in `known` nobody knows: try it, and what is refused is remembered."""

    known: Mapping[str, KnownValue]
    refused: frozenset[str] = frozenset()
    note: str = ""

    def __getitem__(self, name: str) -> Any:
        """The value, None where it is not known."""
        found = self.known.get(name)
        return found.value if found else None


def first_known(sources: Iterable[tuple[str, Says]]) -> Mapping[str, KnownValue]:
    """Each capability from the first source that tells it."""
    known: dict[str, KnownValue] = {}
    for source, says in sources:
        for name, value in says.items():
            if value is not None:
                known.setdefault(name, KnownValue(value, source))
    return known


def capabilities_offline(name: ModelName, stated: Says | None = None) -> ModelCapabilities:
    """What is known without asking anybody; `stated` is the participant's `capabilities:`."""
    return merge_capabilities(name, stated or {}, {})


def merge_capabilities(
    name: ModelName, stated: Says, asked: Says, endpoint: str = "", note: str = ""
) -> ModelCapabilities:
    """What each source says; `asked` is what the server answered."""
    refused = RefusalMemory.load().refuses(endpoint or name.provider, name.model)
    return ModelCapabilities(
        first_known(
            (
                ("file", stated),
                ("learned", dict.fromkeys(refused & set(NAMES), False)),
                ("server", asked),
                (f"table of {KNOWN_ON}", _table(name)),
                ("genai-prices", {"context_window": context_window(name)}),
            )
        ),
        refused,
        note,
    )


def _table(name: ModelName) -> Says:
    return next((says for pattern, says in TABLE if fnmatchcase(str(name).lower(), pattern)), {})
