"""Arguments of a tool call against the tool's JSON Schema: what only can mean one thing is mended, the rest is told."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...core.plugins import near
from ._schemas import Schema, described, resolved, schema_problems, shown, signature
from ._values import NO_WORTH, as_list, broken, by_spelling, converted, has_type, loose, matches
from .canonical import canonical

__all__ = ["Fitted", "fit", "misfit", "schema_problems", "signature"]

DEPTH, STEPS, TOLD = 60, 50_000, 20
PLAIN = {str: ("string",), int: ("integer", "number"), float: ("number",), bool: ("boolean",)}
WORDS = {"type", "title", "description", "default", "examples", "format"}
USUAL = {"type", "title", "description", "properties", "required", "additionalProperties", "$schema"}


@dataclass(frozen=True, slots=True)
class Fitted:
    """Arguments that fit, with what was mended; or, when there are `problems`, why they don't."""

    arguments: dict[str, Any]
    repairs: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def fit(arguments: Mapping[str, Any], schema: Schema) -> Fitted:
    """Checks `arguments` and mends what is unambiguous; nothing that was given is changed."""
    if _fits_plainly(arguments, schema):
        return Fitted(dict(arguments))
    work = _Work(schema)
    try:
        value = work.value(dict(arguments), schema, "")
    except ValueError as error:  # also of numbers with more digits than Python reads
        return Fitted(dict(arguments), problems=(str(error),))
    if not isinstance(value, dict):
        return Fitted(dict(arguments), problems=("the arguments must be an object",))
    if work.repairs and not work.problems and not _is_settled(value, schema):
        return Fitted(dict(arguments), problems=(f"{work.repairs[0]}, and that does not fit either",))
    return Fitted(value, tuple(work.repairs), tuple(work.problems))


def _is_settled(mended: dict[str, Any], schema: Schema) -> bool:
    """One part of a schema may want what another forbids."""
    again = _Work(schema)
    try:
        again.value(mended, schema, "")
    except ValueError:
        return False
    return not again.repairs and not again.problems


def misfit(name: str, schema: Schema, problems: tuple[str, ...]) -> str:
    """The error for the model: what is wrong, and what the tool takes."""
    more = f"; and {len(problems) - TOLD:,} more" if len(problems) > TOLD else ""
    return f"The arguments of {name} do not fit: {'; '.join(problems[:TOLD])}{more}. It takes {signature(name, schema)}"


class _TooMuchError(ValueError):
    pass


@dataclass(slots=True)
class _Budget:
    """What one check may cost, all its attempts together."""

    steps: int = STEPS
    depth: int = 0

    def __enter__(self) -> None:
        self.steps -= 1
        self.depth += 1
        if self.depth > DEPTH:
            raise _TooMuchError("the arguments are nested too deeply")
        if self.steps < 0:
            raise _TooMuchError("the arguments are too large to check")

    def __exit__(self, *raised: object) -> None:
        self.depth -= 1


@dataclass(slots=True)
class _Work:
    """One walk through arguments and schema side by side."""

    root: Schema
    budget: _Budget = field(default_factory=_Budget)
    repairs: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def value(self, value: Any, schema: Any, at: str) -> Any:
        """The value as the schema wants it, as far as that can be had."""
        with self.budget:
            schema = resolved(schema, self.root)
            if _is_plainly_right(value, schema) or (value is None and schema.get("nullable") is True):
                return value
            value = self._typed(value, schema, at)
            value = self._chosen(value, schema, at)
            if isinstance(value, dict):
                value = self._object(value, schema, at)
            elif isinstance(value, list):
                value = self._array(value, schema, at)
            self.problems += (f"{at or 'arguments'}: {words}" for words in broken(value, schema))
            return self._composed(value, schema, at)

    def _typed(self, value: Any, schema: Schema, at: str) -> Any:
        types = _types(schema)
        if not types or any(has_type(value, name) for name in types):
            return _whole(value, types)
        meant = converted(value, types)
        if meant is NO_WORTH and "array" in types:
            meant = self._listed(value, schema)
        if meant is NO_WORTH:
            self.problems.append(f"{at or 'arguments'}: expected {described(schema, self.root)}, got {shown(value)}")
            return value
        return self._mended(value, meant, at)

    def _listed(self, value: Any, schema: Schema) -> Any:
        if value is None:
            return NO_WORTH
        listed = as_list(value)
        trial = self._trial()
        trial.value(listed, {key: item for key, item in schema.items() if key in ("items", "prefixItems")}, "")
        return NO_WORTH if trial.problems else listed

    def _chosen(self, value: Any, schema: Schema, at: str) -> Any:
        choices = schema.get("enum", ())
        if not choices or canonical(value) in map(canonical, choices):
            return value
        meant = by_spelling(value, choices)
        return value if meant is NO_WORTH else self._mended(value, meant, at)

    def _object(self, value: dict[str, Any], schema: Schema, at: str) -> dict[str, Any]:
        value = self._named(value, schema, at)
        made: dict[str, Any] = {}
        for name, item in value.items():
            inside = f"{at}.{name}" if at else str(name)
            if item is None and self._is_left_out(name, schema):
                self.repairs.append(f"{inside}: null taken for left out")
                continue
            applying = list(_applying(name, schema))
            for one in applying:
                item = self.value(item, one, inside)
            if not applying and schema.get("additionalProperties") is False:
                hint = self._hint(name, schema)
                self.problems.append(f"{inside}: there is no such parameter{hint}")
            made[name] = item
        self._missing(made, schema, at)
        return made

    def _hint(self, name: str, schema: Schema) -> str:
        """Which name may have been meant; looking for it takes a while, and only the first problems are told."""
        return near(name, list(schema.get("properties", {}))).rstrip(".?") if len(self.problems) < TOLD else ""

    def _named(self, value: dict[str, Any], schema: Schema, at: str) -> dict[str, Any]:
        """Names that differ from a declared one only in case and separators get that one."""
        properties = schema.get("properties", {})
        if schema.get("additionalProperties") or value.keys() <= properties.keys():
            return value
        meant = _meant_names(value, properties)
        self.repairs += (f"{at}{'.' if at else ''}{name}: taken for {other}" for name, other in meant.items())
        return {meant.get(name, name): item for name, item in value.items()}

    def _is_left_out(self, name: str, schema: Schema) -> bool:
        """Null for a field that can't be null and may be left out."""
        described_field = schema.get("properties", {}).get(name)
        if described_field is None or name in schema.get("required", ()):
            return False
        trial = self._trial()
        trial.value(None, described_field, "")
        return bool(trial.problems)

    def _missing(self, value: dict[str, Any], schema: Schema, at: str) -> None:
        for name in schema.get("required", ()):
            if name not in value:
                wanted = described(schema.get("properties", {}).get(name, {}), self.root)
                self.problems.append(f"{at}{'.' if at else ''}{name}: required ({wanted}), but missing")

    def _array(self, value: list[Any], schema: Schema, at: str) -> list[Any]:
        first, rest = _item_schemas(schema)
        schemas = [*first[: len(value)], *[rest] * (len(value) - len(first))]
        return [self.value(item, one, f"{at}[{n}]") for n, (item, one) in enumerate(zip(value, schemas, strict=True))]

    def _composed(self, value: Any, schema: Schema, at: str) -> Any:
        for part in schema.get("allOf", ()):
            value = self.value(value, part, at)
        for union in filter(schema.__contains__, ("anyOf", "oneOf")):
            value = self._one_of(value, schema[union], at)
        if "not" in schema and self._fits(value, schema["not"]):
            self.problems.append(f"{at or 'arguments'}: {shown(value)} is not allowed")
        if "if" in schema:
            value = self.value(value, schema.get("then" if self._fits(value, schema["if"]) else "else", {}), at)
        return value

    def _one_of(self, value: Any, branches: list[Any], at: str) -> Any:
        """The value by the branch that it fits as it is; else by those that it can be mended for, if they agree."""
        tried = list(self._tried(value, branches, at))
        for made, trial in tried:
            if not trial.repairs:
                return made
        if len({canonical(made) for made, _ in tried}) == 1:
            self.repairs += tried[0][1].repairs
            return tried[0][0]
        wanted = " or ".join(dict.fromkeys(described(branch, self.root) for branch in branches))
        self.problems.append(f"{at or 'arguments'}: expected {wanted}, got {shown(value)}")
        return value

    def _tried(self, value: Any, branches: list[Any], at: str) -> Iterator[tuple[Any, "_Work"]]:
        for branch in branches:
            trial = self._trial()
            made = trial.value(value, branch, at)
            if not trial.problems:
                yield made, trial

    def _fits(self, value: Any, schema: Any) -> bool:
        trial = self._trial()
        trial.value(value, schema, "")
        return not trial.problems and not trial.repairs

    def _trial(self) -> "_Work":
        return _Work(self.root, self.budget)

    def _mended(self, value: Any, meant: Any, at: str) -> Any:
        self.repairs.append(f"{at or 'arguments'}: {shown(value)} taken for {shown(meant)}")
        return meant


def _is_plainly_right(value: Any, schema: Schema) -> bool:
    """The usual case: one type, which it has, and no conditions."""
    return schema.get("type", "") in PLAIN.get(type(value), ()) and schema.keys() <= WORDS


def _fits_plainly(arguments: Mapping[str, Any], schema: Schema) -> bool:
    """The usual case of a whole call, in a twentieth of the time: known names, and each value plainly right."""
    properties = schema.get("properties", {})
    return (
        schema.keys() <= USUAL
        and arguments.keys() <= properties.keys()
        and arguments.keys() >= set(schema.get("required", ()))
        and all(
            type(properties[name]) is dict and _is_plainly_right(value, properties[name])
            for name, value in arguments.items()
        )
    )


def _whole(value: Any, types: tuple[str, ...]) -> Any:
    """5.0 where an integer is meant is 5."""
    return int(value) if isinstance(value, float) and "integer" in types and "number" not in types else value


def _types(schema: Schema) -> tuple[str, ...]:
    types = schema.get("type", ())
    return (types,) if isinstance(types, str) else tuple(types)


def _meant_names(given: Schema, declared: Schema) -> dict[str, str]:
    """What each unknown name can only mean; nothing when two of them mean the same."""
    free: dict[str, list[str]] = {}
    for name in declared.keys() - given.keys():
        free.setdefault(loose(name), []).append(name)
    found = {name: free.get(loose(name), ()) for name in given if name not in declared}
    meant = {name: names[0] for name, names in found.items() if len(names) == 1}
    return meant if len(set(meant.values())) == len(meant) else {}


def _applying(name: str, schema: Schema) -> Iterator[Any]:
    """The schemas that a field of an object has to fit."""
    found = [pattern for key, pattern in schema.get("patternProperties", {}).items() if matches(name, key)]
    if name in schema.get("properties", {}):
        found.append(schema["properties"][name])
    if not found and isinstance(schema.get("additionalProperties"), Mapping):
        found.append(schema["additionalProperties"])
    yield from found


def _item_schemas(schema: Schema) -> tuple[list[Any], Any]:
    """The schemas of the first items, and that of all others; older drafts write the first ones as `items`."""
    items, first = schema.get("items", {}), schema.get("prefixItems", [])
    return (items, schema.get("additionalItems", {})) if isinstance(items, list) else (first, items)
