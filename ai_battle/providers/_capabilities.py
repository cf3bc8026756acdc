"""What a model can do, and who says so: the file, refusals, the server now, or a table."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from ..core.messages import FILE_KINDS
from ._names import KNOWN_ON, ModelName
from ._prices import context_window
from ._refusals import RefusalMemory

_ALL = {"tools": True, "images": True, "json_schema": True, "reasoning": True}
_READING = {**_ALL, "documents": True}
_WATCHING = {**_READING, "video": True}
_NO_REASONING = {**_ALL, "reasoning": False}
_TOOLS = {"tools": True, "images": False, "reasoning": False, "json_schema": True}
_THINKING_TOOLS = {**_TOOLS, "reasoning": True}
_TEXT = {**_TOOLS, "tools": False}
_PICTURES = {**_TEXT, "images": True}

TABLE: tuple[tuple[str, dict[str, bool]], ...] = (
    ("openai/gpt-4o*", {**_NO_REASONING, "documents": True}),
    ("openai/gpt-4.1*", {**_NO_REASONING, "documents": True}),
    ("openai/gpt-*", _READING),
    ("openai/o[0-9]*", _READING),
    ("anthropic/claude-*", _READING),
    ("gemini/gemini-*", _WATCHING),
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
NAMES = ("tools", "images", "documents", "video", "reasoning", "json_schema", "context_window", "max_output_tokens")


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
    """Returns each capability from the first source that tells it."""
    known: dict[str, KnownValue] = {}
    for source, says in sources:
        for name, value in says.items():
            if value is not None:
                known.setdefault(name, KnownValue(value, source))
    return known


def capabilities_offline(name: ModelName, stated: Says | None = None) -> ModelCapabilities:
    """Returns what is known without asking anybody; `stated` is the participant's `capabilities:`."""
    return merge_capabilities(name, stated or {}, {})


def merge_capabilities(
    name: ModelName, stated: Says, asked: Says, endpoint: str = "", note: str = ""
) -> ModelCapabilities:
    """Returns what each source says; `asked` is what the server answered."""
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


def readable_files(name: ModelName, stated: Says) -> Mapping[str, bool | None]:
    """Returns whether a model reads "images", "documents" and "video", by the file or the table; None: unknown.

    It costs nothing: nobody is asked, and no list of prices is loaded.
    """
    known = first_known((("file", stated), ("table", _table(name))))
    return {kind: known[kind].value if kind in known else None for kind in sorted(FILE_KINDS)}


def _table(name: ModelName) -> Says:
    return next((says for pattern, says in TABLE if fnmatchcase(str(name).lower(), pattern)), {})
