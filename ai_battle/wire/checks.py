"""Checks the shape of clients' bodies. Errors name the place, such as `messages[3].content[0].text`.

A shape is a check function, a dictionary of field names to shapes (an object; `!` marks a required field) or a list
with one shape (a list of such values).
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from functools import cached_property
from sys import float_info
from typing import Any, NoReturn, TypeAlias

from ..core.errors import ConfigError
from .bodies import EMPTY_VALUES

Check: TypeAlias = Callable[[Any], None]
Shape: TypeAlias = Check | Mapping[str, Any] | list[Any]
NOT_SET = (*EMPTY_VALUES, False)
DEFAULTS = {"service_tier": "auto", "truncation": "disabled", "verbosity": "medium", "modalities": ["text"]}
HEAD_CHARACTERS = 200  # characters of a data URL that are searched for its type, as the data after it may be megabytes


class ShapeError(TypeError):
    """A value has the wrong shape. `where` lists its place from the inside out."""

    def __init__(self, wanted: str, *where: str) -> None:
        super().__init__(wanted)
        self.wanted = wanted
        self.where = list(where)


def check(body: Any, shape: Check, within: str = "") -> None:
    """Raises `ConfigError` naming the place of a wrong value; `within` is the place of `body` itself."""
    try:
        shape(body)
    except ShapeError as wrong:
        place = (within + "".join(reversed(wrong.where))).removeprefix(".") or "The body"
        raise ConfigError(f"{place} {wrong.wanted}.") from None


def check_choice(chosen: str, tools: Container[Any], place: str) -> None:
    """Raises `ConfigError` if the chosen tool is not among the offered `tools`."""
    if chosen not in tools:
        raise ConfigError(f"{place} {chosen[:80]!r} is not one of the tools.")


def _require_kind(kind: type, name: str) -> Check:
    def require(value: Any) -> None:
        if not isinstance(value, kind):
            raise ShapeError(f"must be {name}")

    return require


text = _require_kind(str, "text")
flag = _require_kind(bool, "true or false")
object_ = _require_kind(dict, "an object")
list_ = _require_kind(list, "a list")


def number(value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= float_info.max:
        raise ShapeError("must be a number")


def positive(value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ShapeError("must be a whole number above 0")


def base64(value: Any, start: int = 0) -> None:
    """Requires text that is plausibly base64: ASCII, with a length that decodes. Decoding it comes later."""
    text(value)
    if not value.isascii() or ((len(value) - start) % 4 and len("".join(value[start:].split())) % 4):
        raise ShapeError("must be base64")


def address(value: Any) -> None:
    """Requires the URL of a picture or a file, which may be a data URL with its whole content."""
    text(value)
    if value.startswith("data:") and ";base64," in value[:HEAD_CHARACTERS]:
        base64(value, value.index(",") + 1)


def rejection(why: str) -> Check:
    """Returns a check that always fails, giving `why`."""

    def require(value: Any) -> None:
        raise ShapeError(why)

    return require


def as_check(shape: Shape) -> Check:
    if isinstance(shape, Mapping):
        return ObjectShape(shape)
    return list_of(shape[0]) if isinstance(shape, list) else shape


def list_of(shape: Shape | None = None, *, at_least: int = 0) -> Check:
    """Requires a list of values of a shape; without a shape, as for messages that are checked later, any list."""
    inner = None if shape is None else as_check(shape)

    def require(value: Any) -> None:
        list_(value)
        if len(value) < at_least:
            raise ShapeError("must not be empty")
        if inner:
            _check_each(enumerate(value), inner, "[{}]")

    return require


def values_of(shape: Shape) -> Check:
    """Requires an object with any names, all of whose values have this shape."""
    inner = as_check(shape)

    def require(value: Any) -> None:
        object_(value)
        _check_each(value.items(), inner, ".{:.80}")

    return require


def _check_each(items: Iterable[tuple[Any, Any]], inner: Check, place: str) -> None:
    name = None
    try:
        for name, item in items:  # noqa: B007 - `name` is read by the handler below
            inner(item)
    except ShapeError as wrong:
        wrong.where.append(place.format(name))
        raise


class ObjectShape:
    """Requires an object. Fields without a shape may hold anything, and null counts as missing."""

    def __init__(self, shapes: Mapping[str, Shape]) -> None:
        self._shapes = {name.removesuffix("!"): shape for name, shape in shapes.items()}
        self._needed = tuple(name[:-1] for name in shapes if name.endswith("!"))
        self.names = frozenset(self._shapes)

    @cached_property
    def _inner(self) -> Mapping[str, Check]:
        return {name: as_check(shape) for name, shape in self._shapes.items()}

    def __call__(self, value: Any) -> None:
        if not isinstance(value, dict):
            raise ShapeError("must be an object")
        name, inner = "", self._inner
        for name in self._needed:
            if value.get(name) is None:
                _raise_missing(name)
        try:
            for name, field in value.items():
                if field is not None and name in inner:
                    inner[name](field)
        except ShapeError as wrong:
            wrong.where.append(f".{name}")
            raise

    def unread(self, body: Mapping[str, Any], read: Container[str]) -> Iterator[str]:
        """Yields the fields that are set but not `read`, and those of inner objects without a shape: `text.verbosity`.

        A value of false or the API's default counts as not set.
        """
        for name, value in body.items():
            inner = self._inner.get(name)
            if name not in read:
                yield from (name,) if value not in (*NOT_SET, DEFAULTS.get(name)) else ()
            elif isinstance(value, dict) and isinstance(inner, ObjectShape):
                yield from (f"{name}.{each}" for each in inner.unread(value, inner.names))


class TaggedShape:
    """Requires an object of the kind that its field `name` gives, or of kind `otherwise` if that field is missing.

    Objects of unknown kinds pass unless `strict_kinds`. `names` maps each kind to its fields that have a shape.
    """

    def __init__(
        self, name: str, kinds: Mapping[str, Shape], otherwise: str | None = None, *, strict_kinds: bool = False
    ) -> None:
        self._name = name
        self._kinds = {kind: as_check(shape) for kind, shape in kinds.items()}
        self._otherwise = otherwise
        self._known = one_of(*kinds) if strict_kinds else text
        self.names = {
            kind: shape.names | {name} for kind, shape in self._kinds.items() if isinstance(shape, ObjectShape)
        }

    def __call__(self, value: Any) -> None:
        object_(value)
        kind = value.get(self._name, self._otherwise)
        if type(kind) is str and kind in self._kinds:
            self._kinds[kind](value)
            return
        if kind is None:
            _raise_missing(self._name)
        try:
            self._known(kind)
        except ShapeError as wrong:
            wrong.where.append(f".{self._name}")
            raise


def text_or(shape: Shape, name: str) -> Check:
    """Requires text or a value that fits `shape`, which errors call `name`."""
    inner = as_check(shape)

    def require(value: Any) -> None:
        if isinstance(value, str):
            return
        if not isinstance(value, list | dict):
            raise ShapeError(f"must be text or {name}")
        inner(value)

    return require


def one_of(*allowed: str) -> Check:
    def require(value: Any) -> None:
        if not isinstance(value, str) or value not in allowed:
            shown = f", not {value!r}" if isinstance(value, str) and len(value) < 80 else ""
            raise ShapeError(f"must be one of {', '.join(allowed)}{shown}")

    return require


def word_or(words: tuple[str, ...], shape: Shape) -> Check:
    """Requires one of the words or a value that fits `shape`."""
    word, inner = one_of(*words), as_check(shape)
    return lambda value: (word if isinstance(value, str) else inner)(value)


def _raise_missing(name: str) -> NoReturn:
    raise ShapeError("is missing", f".{name}")


def schema(value: Any) -> None:
    """Checks the keywords of a JSON Schema that this package reads; true and false are schemas too."""
    if not isinstance(value, bool):
        _KEYWORDS(value)


def _one_or_more(value: Any) -> None:
    (_SEVERAL if isinstance(value, list) else schema)(value)


_SEVERAL, _BY_NAME = list_of(schema), values_of(schema)
_KEYWORDS = ObjectShape(
    {
        **dict.fromkeys(("properties", "patternProperties", "$defs", "definitions"), _BY_NAME),
        **dict.fromkeys(("anyOf", "oneOf", "allOf", "prefixItems"), _SEVERAL),
        **dict.fromkeys(("additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"), schema),
        **dict.fromkeys(("description", "title", "format", "pattern", "$ref"), text),
        "type": text_or([text], "a list of texts"),
        "required": [text],
        "enum": list_,
        "items": _one_or_more,
    }
)


def tool_schema(value: Any) -> None:
    """Requires the schema of a tool's arguments or of an answer, which must be an object, not true or false."""
    object_(value)
    schema(value)
