"""The shape that a client's body must have; what has another is told by its place: `messages[3].content[0].text`."""

from collections.abc import Callable, Iterable, Mapping
from sys import float_info
from typing import Any, NoReturn, TypeAlias

from ..core.errors import ConfigError

Check: TypeAlias = Callable[[Any], None]
HEAD = 200  # of a data URL, in which its type stands


class Misshapen(TypeError):
    """`where` is read from the innermost place to the outermost."""

    def __init__(self, wanted: str) -> None:
        super().__init__(wanted)
        self.wanted = wanted
        self.where: list[str] = []


def check(body: Any, shape: Check, within: str = "") -> None:
    """Raises a `ConfigError` that names the place; `within` is that of `body` itself."""
    try:
        shape(body)
    except Misshapen as wrong:
        place = (within + "".join(reversed(wrong.where))).removeprefix(".") or "The body"
        raise ConfigError(f"{place} {wrong.wanted}.") from None


def check_choice(chosen: str | None, tools: Iterable[Any], place: str) -> None:
    """That a tool which is to be called is one of those that are offered."""
    if chosen is not None and chosen not in tools:
        raise ConfigError(f"{place} {chosen[:80]!r} is none of the tools.")


def of(kind: type | tuple[type, ...], name: str) -> Check:
    def checked(value: Any) -> None:
        if not isinstance(value, kind):
            raise Misshapen(f"must be {name}")

    return checked


text = of(str, "text")
flag = of(bool, "true or false")
object_ = of(dict, "an object")
list_ = of(list, "a list")


def number(value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= float_info.max:
        raise Misshapen("must be a number")


def positive(value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise Misshapen("must be a whole number above 0")


def base64(value: Any) -> None:
    """It is read later on; what reading it would trip over is seen by its length."""
    text(value)
    _base64(value, 0)


def address(value: Any) -> None:
    """Of a picture or a file; it may hold all of it, as a data URL."""
    text(value)
    if value.startswith("data:") and ";base64," in value[:HEAD]:
        _base64(value, value.index(",") + 1)


def anything(value: Any) -> None:
    """What is passed on as it came."""


def list_of(inner: Check, at_least: int = 0) -> Check:
    def checked(value: Any) -> None:
        if not isinstance(value, list):
            raise Misshapen("must be a list")
        if len(value) < at_least:
            raise Misshapen("must not be empty")
        index = 0
        try:
            for index, item in enumerate(value):  # noqa: B007 - where it went wrong
                inner(item)
        except Misshapen as wrong:
            wrong.where.append(f"[{index}]")
            raise

    return checked


class Fields:
    """An object; fields that nothing is said about may be anything, and null is as good as missing."""

    def __init__(self, inner: Mapping[str, Check], *needed: str) -> None:
        self.names = frozenset(inner)
        self._inner = inner
        self._needed = needed

    def __call__(self, value: Any) -> None:
        if not isinstance(value, dict):
            raise Misshapen("must be an object")
        for name in self._needed:
            if value.get(name) is None:
                _missing(name)
        name, inner = "", self._inner
        try:
            for name, field in value.items():
                if field is not None and name in inner:
                    inner[name](field)
        except Misshapen as wrong:
            wrong.where.append(f".{name}")
            raise


def by_field(name: str, kinds: Mapping[str, Check], otherwise: str | None = None, *, known_only: bool = False) -> Check:
    """An object whose field says what kind it is, `otherwise` where it says nothing; unknown kinds may be anything."""
    known = one_of(*kinds)

    def checked(value: Any) -> None:
        if not isinstance(value, dict):
            raise Misshapen("must be an object")
        kind = value.get(name, otherwise)
        if kind is None:
            _missing(name)
        if not isinstance(kind, str):
            _wrong(name, "must be text")
        if known_only and kind not in kinds:
            Fields({name: known})(value)
        kinds.get(kind, anything)(value)

    return checked


some = list_of(anything, at_least=1)


def text_or(inner: Check, name: str) -> Check:
    """Text, or what `inner` takes, which is called `name`."""

    def checked(value: Any) -> None:
        if isinstance(value, str):
            return
        if not isinstance(value, list | dict):
            raise Misshapen(f"must be text or {name}")
        inner(value)

    return checked


def one_of(*allowed: str) -> Check:
    def checked(value: Any) -> None:
        if not isinstance(value, str) or value not in allowed:
            shown = f", not {value!r}" if isinstance(value, str) and len(value) < 80 else ""
            raise Misshapen(f"must be one of {', '.join(allowed)}{shown}")

    return checked


def _base64(value: str, start: int) -> None:
    if not value.isascii() or ((len(value) - start) % 4 and len("".join(value[start:].split())) % 4):
        raise Misshapen("must be base64")


def _missing(name: str) -> NoReturn:
    _wrong(name, "is missing")


def _wrong(name: str, how: str) -> NoReturn:
    wrong = Misshapen(how)
    wrong.where.append(f".{name}")
    raise wrong


def schema(value: Any) -> None:
    """Of a value within another one; true and false are schemas, too."""
    if not isinstance(value, bool):
        _KEYWORDS(value)


def _by_name(value: Any) -> None:
    if not isinstance(value, dict):
        raise Misshapen("must be an object")
    name = ""
    try:
        for name, inner in value.items():  # noqa: B007 - where it went wrong
            schema(inner)
    except Misshapen as wrong:
        wrong.where.append(f".{name[:80]}")
        raise


def _one_or_more(value: Any) -> None:
    (_SEVERAL if isinstance(value, list) else schema)(value)


_SEVERAL = list_of(schema)
_TEXTS = list_of(text)
_KEYWORDS = Fields(
    {
        **dict.fromkeys(("properties", "patternProperties", "$defs", "definitions"), _by_name),
        **dict.fromkeys(("anyOf", "oneOf", "allOf", "prefixItems"), _SEVERAL),
        **dict.fromkeys(("additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"), schema),
        **dict.fromkeys(("description", "title", "format", "pattern", "$ref"), text),
        "type": text_or(_TEXTS, "a list of texts"),
        "required": _TEXTS,
        "enum": list_,
        "items": _one_or_more,
        "default": anything,
    }
)


MAY_BE_NULL = frozenset(("default", "const"))
VALUES = MAY_BE_NULL | {"enum", "examples"}


def without_nulls(schema: Any) -> Any:
    """The same schema without fields that are null, which some clients write for those that they leave out."""
    if isinstance(schema, list):
        return list(map(without_nulls, schema))
    if not isinstance(schema, Mapping):
        return schema
    given = {name: inner for name, inner in schema.items() if inner is not None or name in MAY_BE_NULL}
    return {name: inner if name in VALUES else without_nulls(inner) for name, inner in given.items()}


def tool_schema(value: Any) -> None:
    """Of the arguments of a tool, or of a whole answer: an object, and no bare true or false."""
    if not isinstance(value, Mapping):
        raise Misshapen("must be an object")
    schema(value)
