"""Checks the arguments of a tool call against the tool's JSON Schema, and repairs what has only one meaning.

It does not use jsonschema, which adds 20 ms and more to every start, matches patterns in exponential time, and has
messages that do not say what a model should write instead.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...core.plugins import near
from .schemas import (
    Schema,
    broken_rules,
    canonical,
    description_of,
    is_number,
    is_whole,
    matches,
    resolve_references,
    short_json,
    signature,
)

# Limits on nesting, on the values checked per call (a model could make a check endless), and on problems reported.
DEPTH, STEPS, TOLD = 60, 50_000, 20
_PLAIN = {str: ("string",), int: ("integer", "number"), float: ("number",), bool: ("boolean",)}
_KINDS: dict[str, Any] = {"string": str, "boolean": bool, "array": list, "null": type(None), "object": Mapping}
_KINDS |= {"integer": (), "number": ()}
_WORDS = {"type", "title", "description", "default", "examples", "format"}
_USUAL_KEYWORDS = {"type", "title", "description", "properties", "required", "additionalProperties", "$schema"}
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?")
_LONGEST_NUMBER = 400  # characters
_NO_VALUE: Any = object()


@dataclass(frozen=True, slots=True)
class FittedArguments:
    """Arguments after the check, with the `repairs` made, or with the `problems` why they don't fit."""

    arguments: dict[str, Any]
    repairs: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def fit(arguments: Mapping[str, Any], schema: Schema) -> FittedArguments:
    """Checks `arguments` and repairs what is unambiguous, in a copy."""
    if _fits_plainly(arguments, schema):
        return FittedArguments(dict(arguments))
    walk = _Walk(schema)
    try:
        value = walk.value(dict(arguments), schema, "")
    except ValueError as error:  # from `_Effort`, or from numbers with more digits than Python reads
        return FittedArguments(dict(arguments), problems=(str(error),))
    if not isinstance(value, dict):
        return FittedArguments(dict(arguments), problems=("the arguments must be an object",))
    if walk.repairs and not walk.problems and not _is_settled(value, schema):
        return FittedArguments(dict(arguments), problems=(f"{walk.repairs[0]}, and that does not fit either",))
    return FittedArguments(value, tuple(walk.repairs), tuple(walk.problems))


def _is_settled(mended: dict[str, Any], schema: Schema) -> bool:
    """Returns whether repaired arguments fit now, as one part of a schema may want what another forbids."""
    try:
        return _Walk(schema).fits(mended, schema)
    except ValueError:
        return False


def arguments_error(name: str, schema: Schema, problems: tuple[str, ...]) -> str:
    """Returns the error message for the model: the problems, and the tool's parameters."""
    more = f"; and {len(problems) - TOLD:,} more" if len(problems) > TOLD else ""
    return f"The arguments of {name} do not fit: {'; '.join(problems[:TOLD])}{more}. It takes {signature(name, schema)}"


def _is_plainly_right(value: Any, schema: Schema) -> bool:
    """Returns whether the schema is only a type, and the value has it, which is the usual case."""
    return schema.get("type", "") in _PLAIN.get(type(value), ()) and schema.keys() <= _WORDS


def _fits_plainly(arguments: Mapping[str, Any], schema: Schema) -> bool:
    """Returns whether all names are known and all values plainly right: the usual case, in a twentieth of the time."""
    properties = schema.get("properties", {})
    return (
        schema.keys() <= _USUAL_KEYWORDS
        and arguments.keys() <= properties.keys()
        and arguments.keys() >= set(schema.get("required", ()))
        and all(
            type(properties[name]) is dict and _is_plainly_right(value, properties[name])
            for name, value in arguments.items()
        )
    )


@dataclass(slots=True)
class _Effort:
    """Limits the cost of one check, including all attempts at repairs. Raises `ValueError` when it is exceeded."""

    steps: int = STEPS
    depth: int = 0

    def __enter__(self) -> None:
        self.steps -= 1
        self.depth += 1
        if self.depth > DEPTH:
            raise ValueError("the arguments are nested too deeply")
        if self.steps < 0:
            raise ValueError("the arguments are too large to check")

    def __exit__(self, *raised: object) -> None:
        self.depth -= 1


@dataclass(slots=True)
class _Walk:
    """Walks through arguments and schema in parallel, collecting repairs and problems."""

    root: Schema
    effort: _Effort = field(default_factory=_Effort)
    repairs: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def value(self, value: Any, schema: Any, at: str) -> Any:
        """Returns the value repaired to fit the schema, as far as possible."""
        with self.effort:
            schema = resolve_references(schema, self.root)
            if _is_plainly_right(value, schema) or (value is None and schema.get("nullable") is True):
                return value
            known = len(self.problems)
            value = self._choice(self._value_of_type(value, schema, at), schema, at)
            # What is wrong with a value of another type is said already, with the choices that there are.
            has_type = len(self.problems) == known
            if isinstance(value, dict):
                value = self._object(value, schema, at)
            elif isinstance(value, list):
                first, rest = _item_schemas(schema)
                schemas = [*first[: len(value)], *[rest] * (len(value) - len(first))]
                pairs = enumerate(zip(value, schemas, strict=True))
                value = [self.value(item, one, f"{at}[{number}]") for number, (item, one) in pairs]
            if has_type:
                self._check_rules(value, schema, at)
            return self._combine(value, schema, at)

    def _check_rules(self, value: Any, schema: Schema, at: str) -> None:
        for words in broken_rules(value, schema):
            self._problem(at, words)

    def _problem(self, at: str, words: str) -> None:
        self.problems.append(f"{at or 'arguments'}: {words}")

    def _mend(self, value: Any, meant: Any, at: str) -> Any:
        self.repairs.append(f"{at or 'arguments'}: {short_json(value)} taken for {short_json(meant)}")
        return meant

    def _try(self, value: Any, schema: Any, at: str = "") -> tuple[Any, "_Walk"]:
        trial = _Walk(self.root, self.effort)
        return trial.value(value, schema, at), trial

    def _value_of_type(self, value: Any, schema: Schema, at: str) -> Any:
        types = schema.get("type", ())
        types = (types,) if isinstance(types, str) else tuple(types)
        if not types or _has_type(value, types):
            is_integer = isinstance(value, float) and "integer" in types and "number" not in types
            return int(value) if is_integer else value
        meant = _conversion(value, types)
        if meant is _NO_VALUE:
            meant = self._list_of(value, types, schema)
        if meant is not _NO_VALUE:
            return self._mend(value, meant, at)
        self._problem(at, f"expected {description_of(schema, self.root)}, got {short_json(value)}")
        return value

    def _list_of(self, value: Any, types: tuple[str, ...], schema: Schema) -> Any:
        """Returns the value as a list if the schema wants one and its items fit, else `_NO_VALUE`."""
        if value is None or "array" not in types:
            return _NO_VALUE
        listed = _as_list(value)
        items = {key: schema[key] for key in ("items", "prefixItems") if key in schema}
        return _NO_VALUE if self._try(listed, items)[1].problems else listed

    def _choice(self, value: Any, schema: Schema, at: str) -> Any:
        """Replaces the value by the only choice that differs just in case, separators or number versus text."""
        choices = schema.get("enum", ())
        if not choices or canonical(value) in map(canonical, choices) or not isinstance(value, str | int):
            return value
        meant = [choice for choice in choices if _folded_name(choice) == _folded_name(value)]
        return self._mend(value, meant[0], at) if len(meant) == 1 and not isinstance(value, bool) else value

    def _object(self, value: dict[str, Any], schema: Schema, at: str) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for name, item in self._with_declared_names(value, schema, at).items():
            inside = f"{at}.{name}".removeprefix(".")
            if self._is_left_out(name, item, schema):
                self.repairs.append(f"{inside}: null taken for left out")
                continue
            applying = _schemas_of(name, schema)
            for one in applying:
                item = self.value(item, one, inside)
            if not applying and schema.get("additionalProperties") is False:
                self._problem(inside, f"there is no such parameter{self._hint(name, schema)}")
            made[name] = item
        for name in schema.get("required", ()):
            if name not in made:
                wanted = description_of(schema.get("properties", {}).get(name, {}), self.root)
                self._problem(f"{at}.{name}".removeprefix("."), f"required ({wanted}), but missing")
        return made

    def _hint(self, name: str, schema: Schema) -> str:
        """Suggests the intended name. Skips this slow search for problems that are not reported."""
        return near(name, list(schema.get("properties", {}))).rstrip(".?") if len(self.problems) < TOLD else ""

    def _with_declared_names(self, value: dict[str, Any], schema: Schema, at: str) -> dict[str, Any]:
        """Replaces names that differ from a declared one only in case and separators."""
        properties = schema.get("properties", {})
        if schema.get("additionalProperties") or value.keys() <= properties.keys():
            return value
        meant = _meant_names(value, properties)
        self.repairs += (f"{at}.{name}: taken for {other}".removeprefix(".") for name, other in meant.items())
        return {meant.get(name, name): item for name, item in value.items()}

    def _is_left_out(self, name: str, item: Any, schema: Schema) -> bool:
        """Returns whether null means an omitted field: the field is optional and can't be null."""
        wanted = schema.get("properties", {}).get(name)
        if item is not None or wanted is None or name in schema.get("required", ()):
            return False
        return bool(self._try(None, wanted)[1].problems)

    def _combine(self, value: Any, schema: Schema, at: str) -> Any:
        for part in schema.get("allOf", ()):
            value = self.value(value, part, at)
        for union in filter(schema.__contains__, ("anyOf", "oneOf")):
            value = self._one_of(value, schema[union], at)
        if "not" in schema and self.fits(value, schema["not"]):
            self._problem(at, f"{short_json(value)} is not allowed")
        if "if" in schema:
            value = self.value(value, schema.get("then" if self.fits(value, schema["if"]) else "else", {}), at)
        return value

    def fits(self, value: Any, schema: Any) -> bool:
        _, trial = self._try(value, schema)
        return not trial.problems and not trial.repairs

    def _one_of(self, value: Any, branches: list[Any], at: str) -> Any:
        """Returns the value as the first branch that it fits, or repaired if all branches with a repair agree on it."""
        tried = []
        for branch in branches:
            made, trial = self._try(value, branch, at)
            if not trial.problems and not trial.repairs:
                return made
            if not trial.problems:
                tried.append((made, trial))
        if len({canonical(made) for made, _ in tried}) == 1:
            self.repairs += tried[0][1].repairs
            return tried[0][0]
        wanted = " or ".join(dict.fromkeys(description_of(branch, self.root) for branch in branches))
        self._problem(at, f"expected {wanted}, got {short_json(value)}")
        return value


def _meant_names(given: Schema, declared: Schema) -> dict[str, str]:
    """Returns the declared name for each unknown name with only one candidate; none if two mean the same."""
    free: dict[str, list[str]] = {}
    for name in declared.keys() - given.keys():
        free.setdefault(_folded_name(name), []).append(name)
    found = {name: free.get(_folded_name(name), ()) for name in given if name not in declared}
    meant = {name: names[0] for name, names in found.items() if len(names) == 1}
    return meant if len(set(meant.values())) == len(meant) else {}


def _schemas_of(name: str, schema: Schema) -> list[Any]:
    """Returns the schemas that a field of an object must fit."""
    found = [pattern for key, pattern in schema.get("patternProperties", {}).items() if matches(name, key)]
    if name in schema.get("properties", {}):
        found.append(schema["properties"][name])
    if not found and isinstance(schema.get("additionalProperties"), Mapping):
        found.append(schema["additionalProperties"])
    return found


def _item_schemas(schema: Schema) -> tuple[list[Any], Any]:
    """Returns the schemas of the first items and of all others. Older drafts have the first ones in `items`."""
    items, first = schema.get("items", {}), schema.get("prefixItems", [])
    return (items, schema.get("additionalItems", {})) if isinstance(items, list) else (first, items)


def _has_type(value: Any, types: tuple[str, ...]) -> bool:
    """Returns whether a JSON value has one of the types; 5.0 is an integer too."""
    if is_number(value):
        return "number" in types or ("integer" in types and (isinstance(value, int) or value.is_integer()))
    return isinstance(value, tuple(map(_KINDS.__getitem__, types)))


def _conversion(value: Any, types: tuple[str, ...]) -> Any:
    """Converts the value to one of `types`; returns `_NO_VALUE` if there is no way, or more than one."""
    meant = [one for name in types if (one := _as_type(value, name)) is not _NO_VALUE]
    return meant[0] if len({canonical(one) for one in meant}) == 1 else _NO_VALUE


def _as_type(value: Any, name: str) -> Any:
    if name == "string" and isinstance(value, bool | int | float):
        return json.dumps(value)
    if not isinstance(value, str):
        return _NO_VALUE
    word = value.strip().lower() if len(value) < _LONGEST_NUMBER else ""
    if name in ("integer", "number"):
        return _number(word, name)
    if name == "object":
        return _read_json(value, "{")
    words: dict[str, dict[str, Any]] = {"boolean": {"true": True, "false": False}, "null": {"null": None, "none": None}}
    return words.get(name, {}).get(word, _NO_VALUE)


def _number(text: str, name: str) -> Any:
    if not _NUMBER.fullmatch(text):
        return _NO_VALUE
    number = int(text) if text.lstrip("+-").isdigit() else float(text)
    if name == "integer" and isinstance(number, float):
        return int(number) if is_whole(number) else _NO_VALUE
    return _NO_VALUE if number in (float("inf"), float("-inf")) else number


def _as_list(value: Any) -> list[Any]:
    """Decodes a list written as JSON text, or makes a list of the one value."""
    read = _read_json(value, "[") if isinstance(value, str) else _NO_VALUE
    return [value] if read is _NO_VALUE else list(read)


def _read_json(text: str, opening: str) -> Any:
    """Decodes JSON text that begins with `opening`, else returns `_NO_VALUE`."""
    if not text.lstrip().startswith(opening):
        return _NO_VALUE
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _NO_VALUE


def _folded_name(name: Any) -> str:
    """Normalizes case and separators, so that `filePath` equals `file_path`."""
    return re.sub(r"[\s_-]", "", str(name)).casefold()
