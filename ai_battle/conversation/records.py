"""Converts events to the JSON records of journal lines, and back."""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields
from typing import Any, NamedTuple, get_args

from pydantic_core import PydanticSerializationError, to_json

from ..core.events import DELTAS, Event
from ..core.exchange import ToolSpec, Usage
from ..core.messages import Message, ToolCall, ToolResult
from ..core.texts import each_text
from ..wire.genai import (
    message_from_json,
    message_to_json,
    part_from_json,
    part_to_json,
    usage_from_json,
    usage_to_json,
)

Record = dict[str, Any]


class _Column(NamedTuple):
    """A field of an event: how to write and read it, and if a record may lack it."""

    name: str
    write: Callable[[Any], Any] | None
    read: Callable[[Any], Any] | None
    required: bool
    sparse: bool


def record(event: Event) -> Record:
    """Returns `{"type": ..., field: value, ...}`. Raises `KeyError` for deltas, which are not journalled."""
    kind, columns = _LAYOUTS[type(event)]
    line: Record = {"type": kind}
    for name, write, _, _, sparse in columns:
        value = getattr(event, name)
        if value is not None or not sparse:
            line[name] = value if write is None else write(value)
    return line


def layout(kind: type) -> tuple[str, tuple[str, ...]]:
    """Returns the type name and the fields of the records of an event class."""
    return _LAYOUTS[kind].kind, tuple(column.name for column in _LAYOUTS[kind].columns)


def record_bytes(line: Record) -> bytes:
    """Encodes the record as JSON. Lone surrogates, which UTF-8 can't encode, become U+FFFD."""
    try:
        return to_json(line, inf_nan_mode="null", fallback=str)
    except PydanticSerializationError:
        return to_json(each_text(line, _replace_surrogates), inf_nan_mode="null", fallback=str)


def _replace_surrogates(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def event(record: Mapping[str, Any]) -> Event:
    """Decodes a record into its event, ignoring unknown fields.

    Raises `ValueError` saying what is wrong with the record.
    """
    kind = record.get("type")
    found = _CLASSES.get(kind) if isinstance(kind, str) else None
    if found is None:
        raise ValueError(
            f"there is no event of type {kind!r}; it may be of a newer ai-battle: pip install -U ai-battle"
        )
    given = [column for column in _LAYOUTS[found].columns if column.required or column.name in record]
    value: Event = found(**{column.name: _value(column, record) for column in given})
    return value


def _value(column: _Column, record: Mapping[str, Any]) -> Any:
    if column.name not in record:
        raise ValueError(f"{record['type']} has no {column.name!r}")
    if column.read is None:
        return record[column.name]
    try:
        return column.read(record[column.name])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{column.name!r} of {record['type']} is malformed: {error!r}") from error


def specs_to_json(specs: tuple[ToolSpec, ...]) -> list[Record]:
    return [
        {"name": spec.name, "description": spec.description, "parameters": spec.schema}
        | ({"guide": spec.guide} if spec.guide else {})
        | ({"writes": True} if spec.writes else {})
        for spec in specs
    ]


def _specs_from_json(specs: Any) -> tuple[ToolSpec, ...]:
    return tuple(
        ToolSpec(
            spec["name"],
            spec["description"],
            spec["parameters"],
            writes=spec.get("writes", False),
            guide=spec.get("guide", ""),
        )
        for spec in specs
    )


_CONVERTED: Mapping[Any, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    Message: (message_to_json, message_from_json),
    tuple[Message, ...]: (
        lambda messages: [*map(message_to_json, messages)],
        lambda messages: tuple(map(message_from_json, messages)),
    ),
    tuple[ToolSpec, ...]: (specs_to_json, _specs_from_json),
    Usage: (usage_to_json, usage_from_json),
    tuple[str, ...]: (list, tuple),
    tuple[str, ...] | None: (list, tuple),
    ToolCall: (part_to_json, part_from_json),
    ToolResult: (part_to_json, part_from_json),
    ToolResult | None: (part_to_json, part_from_json),
}


class _Layout(NamedTuple):
    kind: str
    columns: tuple[_Column, ...]


def _column(field: "Field[Any]") -> _Column:
    write, read = _CONVERTED.get(field.type, (None, None))
    required = field.default is MISSING and field.default_factory is MISSING
    return _Column(field.name, write, read, required, "sparse" in field.metadata)


def _snake_case(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")


_LAYOUTS: Mapping[type, _Layout] = {
    kind: _Layout(_snake_case(kind.__name__), tuple(map(_column, fields(kind))))
    for kind in get_args(Event)
    if kind not in DELTAS
}


_CLASSES: Mapping[str, type[Any]] = {layout.kind: kind for kind, layout in _LAYOUTS.items()}
