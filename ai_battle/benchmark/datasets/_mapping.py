"""A row as a task: which field holds what."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...core.errors import ConfigError
from ...core.exchange import ToolSpec
from ...core.plugins import near
from ..tasks import Task
from . import AT
from ._reading import Row

USUAL: Mapping[str, Sequence[str]] = {
    "id": ("id", "task_id", "name"),
    "prompt": ("prompt", "question", "input", "instruction", "goal"),
    "reference": ("reference", "answer", "target", "expected", "output"),
    "tests": ("tests", "test"),
    "options": ("options", "choices"),
    "system": ("system",),
    "tools": ("tools",),
}
LETTERS = "ABCDEFGHIJKLMNOP"


@dataclass(frozen=True, slots=True)
class Fields:
    """`stated` are the fields that the suite names; the others go by their usual names."""

    stated: Mapping[str, str] = field(default_factory=dict)
    _known: dict[tuple[str, ...], Mapping[str, str]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        for name in self.stated:
            if name not in USUAL:
                raise ConfigError(f"there is no field {name!r} of a task{near(name, list(USUAL))}")

    def columns(self, row: Row) -> Mapping[str, str]:
        """Which column of this row holds what: the usual name where none does."""
        names = tuple(row.values)
        if names not in self._known:
            found = {name: next((each for each in usual if each in names), usual[0]) for name, usual in USUAL.items()}
            self._known[names] = {**found, **self.stated}
        return self._known[names]

    def task(self, row: Row) -> Task:
        """Raises `ConfigError` with the line."""
        columns = self.columns(row)
        options = _options(row, columns["options"])
        taken = columns.values()
        return Task(
            row.optional(columns["id"]) or str(row.line),
            with_options(row.text(columns["prompt"]), options),
            self._asked_for("reference", columns, row),
            tools_of(row.values.get(columns["tools"]), row.place),
            self._asked_for("tests", columns, row),
            options,
            row.optional(columns["system"]),
            _goal(row),
            extra={**{key: value for key, value in row.values.items() if key not in taken}, AT: row.place},
        )

    def _asked_for(self, name: str, columns: Mapping[str, str], row: Row) -> str:
        """What the suite names must be there; what it leaves open may be missing."""
        return row.text(columns[name]) if name in self.stated else row.optional(columns[name])


def with_options(prompt: str, options: Sequence[str]) -> str:
    """The prompt with its lettered options, where it does not show them itself."""
    if not options or all(option in prompt for option in options):
        return prompt
    listed = (f"({letter}) {option}" for letter, option in zip(LETTERS, options, strict=False))
    return "\n".join((prompt, *listed))


def tools_of(said: Any, place: str) -> tuple[ToolSpec, ...]:
    """Tools as OpenAI writes them, bare or under `function`."""
    if not said:
        return ()
    if not isinstance(said, list):
        raise ConfigError(f"{place}: tools must be a list of {{name, description, parameters}}")
    return tuple(_tool(each, place) for each in said)


def _tool(said: Any, place: str) -> ToolSpec:
    inside = said.get("function", said) if isinstance(said, dict) else None
    if not isinstance(inside, dict) or not isinstance(inside.get("name"), str):
        raise ConfigError(f"{place}: a tool must have a name")
    schema = inside.get("parameters") or inside.get("input_schema") or {"type": "object", "properties": {}}
    return ToolSpec(inside["name"], str(inside.get("description", "")), _plain_schema(schema))


def _plain_schema(schema: Any) -> Any:
    """JSON Schema out of Python's names for types."""
    if isinstance(schema, list):
        return [_plain_schema(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    names = {"dict": "object", "float": "number", "tuple": "array", "any": "string"}
    found = {key: _plain_schema(value) for key, value in schema.items()}
    return found | {"type": names.get(found["type"], found["type"])} if isinstance(found.get("type"), str) else found


def _options(row: Row, key: str) -> tuple[str, ...]:
    said = row.values.get(key) or ()
    if not isinstance(said, list | tuple):
        raise ConfigError(f"{row.place}: {key} must be a list")
    return tuple(map(str, said))


def _goal(row: Row) -> Mapping[str, Any] | None:
    said = row.values.get("discussion")
    return said if isinstance(said, dict) else None
