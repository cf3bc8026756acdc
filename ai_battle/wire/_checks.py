"""The shape that a client's body must have; what has another is told by its place: `messages[3].content[0].text`."""

from collections.abc import Callable, Iterable, Mapping
from sys import float_info
from typing import Any, NoReturn, TypeAlias

from ..core.errors import ConfigError

Check: TypeAlias = Callable[[Any], None]
HEAD = 200  # of a data URL, in which its type stands


class Misshapen(Exception):
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


def fields(inner: Mapping[str, Check], *needed: str) -> Check:
    """An object; fields that nothing is said about may be anything, and null is as good as missing."""

    def checked(value: Any) -> None:
        if not isinstance(value, dict):
            raise Misshapen("must be an object")
        for name in needed:
            if value.get(name) is None:
                _missing(name)
        name = ""
        try:
            for name, field in value.items():
                if field is not None and name in inner:
                    inner[name](field)
        except Misshapen as wrong:
            wrong.where.append(f".{name}")
            raise

    return checked


def by_field(name: str, kinds: Mapping[str, Check], otherwise: str | None = None) -> Check:
    """An object whose field says what kind it is, `otherwise` where it says nothing; unknown kinds may be anything."""

    def checked(value: Any) -> None:
        if not isinstance(value, dict):
            raise Misshapen("must be an object")
        kind = value.get(name, otherwise)
        if kind is None:
            _missing(name)
        if not isinstance(kind, str):
            _wrong(name, "must be text")
        kinds.get(kind, anything)(value)

    return checked


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
