"""The text that is searched for calls, and the results: calls, their positions, and unusable calls."""

import json
import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Any, Literal

from ...core.messages import ToolCall
from ...core.tooling import ProposalKind
from .loose_json import Unreadable, read_value

_DECODER = json.JSONDecoder(strict=False)
_HALF_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")
_STRUCTURE = re.compile(r"\s*[\[{(]")
_UNESCAPED_QUOTE = re.compile(r'(?<!\\)(?:\\\\)*+"')
_AFTER_TEXT = re.compile(r"\s*(?:[,:}\]]|\Z)")
_INTEGER = re.compile(r"\s*[-+]?\d+\s*\Z")
_NUMBER = re.compile(r"\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\s*\Z")
_WORDS = {"true": True, "false": False, "null": None, "none": None}
STRUCTURES = frozenset({"array", "list", "tuple", "object", "dict"})
_NUMBERS = frozenset({"integer", "int", "number", "float", "double"})
_BOOLEANS = frozenset({"boolean", "bool"})
_ANYTHING = frozenset({"boolean", "number", "array", "object", "null"})


class Source:
    """A text with cached searches, which keep the time for reading it linear in its length."""

    __slots__ = ("_fast_attempts", "_found", "_line", "_mending_attempts", "_spare", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._found: dict[re.Pattern[str], tuple[int, re.Match[str] | None]] = {}
        # Each failure of the fast decoder walks over the whole text (it counts lines), so their number is limited.
        self._fast_attempts = 50
        self._mending_attempts = 5
        self._spare = len(text) // 8 + 10_000
        self._line: tuple[re.Pattern[str] | None, int, int, bool] = (None, 0, -1, False)

    def find(self, pattern: re.Pattern[str], at: int) -> re.Match[str] | None:
        """Returns the first match from `at` on. With growing `at`, each pattern walks over the text only once."""
        if known := self._found.get(pattern):
            since, match = known
            if since <= at and (match is None or match.start() >= at):
                return match
        match = pattern.search(self.text, at)
        self._found[pattern] = at, match
        return match

    def end_of(self, pattern: re.Pattern[str], at: int) -> int:
        """Returns the end of the match at `at`, or `at` itself if there is none."""
        found = pattern.match(self.text, at)
        return found.end() if found else at

    def line_end(self, at: int) -> int:
        end = self.text.find("\n", at)
        return end if end >= 0 else len(self.text)

    def may_look_again(self, characters: int) -> bool:
        """Returns whether this much text, already read in vain, may be read again; all such text shares one limit."""
        self._spare -= characters
        return self._spare >= 0

    def begins_line(self, at: int) -> bool:
        return at == 0 or self.text.startswith("\n", at - 1)

    def before(self, at: int, most: int) -> str:
        """Returns the text before `at` on its line, at most the last `most` characters."""
        start = at - most if at > most else 0
        line = self.text.rfind("\n", start, at) + 1
        return self.text[line or start : at]

    def is_line_of(self, pattern: re.Pattern[str], at: int) -> bool:
        """Returns whether the whole line of `at` matches. Keeps the answer for further questions about that line."""
        known, start, end, fits = self._line
        if known is not pattern or not start <= at <= end:
            start, end = self.text.rfind("\n", 0, at) + 1, self.line_end(at)
            fits = pattern.fullmatch(self.text, start, end) is not None
            self._line = pattern, start, end, fits
        return fits

    def is_last_line(self) -> bool:
        """Returns whether the line that `is_line_of` checked is the last one, which may still grow."""
        return self._line[2] == len(self.text)

    def value(self, at: int) -> tuple[Any, int]:
        """Returns the JSON (or nearly JSON) value at `at` and its end. Raises `Unreadable`."""
        if self._fast_attempts:
            try:
                value, end = _DECODER.raw_decode(self.text, at)
            except (ValueError, RecursionError):
                self._fast_attempts -= 1
            else:
                return (_with_whole_characters(value) if _HALF_CHARACTER.search(self.text, at, end) else value), end
        try:
            return read_value(self.text, at)
        except Unreadable as error:
            if error.cut or not self._mending_attempts:
                raise
            self._mending_attempts -= 1
            return _read_with_escapes(self.text, at, _inner_quotes(self.text, at))


def _inner_quotes(text: str, at: int) -> list[int]:
    """Returns the quotation marks in texts that do not end them, since nothing of JSON follows."""
    inner: list[int] = []
    is_open = False
    for mark in _UNESCAPED_QUOTE.finditer(text, at):
        if is_open and not _AFTER_TEXT.match(text, mark.end()):
            inner.append(mark.start())
        else:
            is_open = not is_open
    return inner


def _read_with_escapes(text: str, at: int, places: list[int]) -> tuple[Any, int]:
    """Reads the value at `at` as if it had a backslash at each of the places. Raises `Unreadable`."""
    parts = [text[start:end] for start, end in pairwise((at, *places, len(text)))]
    value, end = read_value("\\".join(parts), 0)
    return value, at + end - bisect_left([place - at + number for number, place in enumerate(places)], end)


def _with_whole_characters(value: Any) -> Any:
    """Replaces lone surrogates, which can't be encoded as UTF-8."""
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case list():
            return [_with_whole_characters(item) for item in value]
        case dict():
            return {_with_whole_characters(key): _with_whole_characters(item) for key, item in value.items()}
    return value


def parse_object(text: str) -> Any:
    """Returns the only value in a string of arguments. Raises `Unreadable`, also if other text follows it."""
    stripped = text.strip()
    value, end = Source(stripped).value(0)
    if stripped[end:].strip(" \n\t}]`;,"):
        raise Unreadable(end)
    return value


def types_of(schema: Any) -> frozenset[str]:
    """Returns the names of all types that the schema allows, none if it doesn't say."""
    if not isinstance(schema, Mapping):
        return frozenset()
    declared, choices = schema.get("type"), schema.get("enum")
    if isinstance(declared, str | list):
        return frozenset([declared] if isinstance(declared, str) else filter(_is_text, declared))
    unions = chain.from_iterable(
        schema[key] for key in ("anyOf", "oneOf", "allOf") if isinstance(schema.get(key), list)
    )
    types = frozenset[str]().union(*map(types_of, unions))
    is_text = isinstance(choices, list) and choices and all(map(_is_text, choices))
    return types or frozenset({"string"} if is_text else ())


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def value_of_type(text: str, schema: Any) -> Any:
    """Converts `text` to a type that the schema allows, or returns it unchanged if none fits."""
    types = types_of(schema) or _ANYTHING
    if types & STRUCTURES and _STRUCTURE.match(text):
        try:
            return parse_object(text)
        except Unreadable:
            return text
    return _scalar(text, types)


def _scalar(text: str, types: frozenset[str]) -> Any:
    word = text.strip().lower()
    if word in _WORDS and ("null" in types if _WORDS[word] is None else types & _BOOLEANS):
        return _WORDS[word]
    if types & _NUMBERS and _INTEGER.match(text) and len(text) < 4000:
        return int(text)
    return float(text) if types & _NUMBERS and _NUMBER.match(text) else text


IssueKind = Literal["unknown_tool", "malformed", "cut_off", "quoted"]

_ADVICE = {
    "unknown_tool": "There is no such tool",
    "malformed": "This call could not be read",
    "cut_off": "This call was cut off and has not been run",
    "quoted": "This call stands in a quotation or in reasoning and has not been run",
}


@dataclass(frozen=True, slots=True)
class Issue:
    """An unusable call; `str()` returns the sentence for the model."""

    kind: IssueKind
    text: str
    detail: str = ""

    def __str__(self) -> str:
        shown = self.text if len(self.text) <= 80 else self.text[:79] + "…"
        return f"{_ADVICE[self.kind]}{': ' if self.detail else ''}{self.detail}: {shown!r}"


@dataclass(frozen=True, slots=True)
class Span:
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Proposal:
    """A call that the text mentions but probably does not want run; `kind` says why."""

    call: ToolCall
    kind: ProposalKind


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of reading a text. `spans` cover the calls, even unusable ones; `prose` is the rest of the text.

    Proposals do not count as calls, and their text is prose.
    """

    calls: tuple[ToolCall, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    spans: tuple[Span, ...] = ()
    issues: tuple[Issue, ...] = ()
    prose: str = ""


def without_cut_call(found: Reading, text: str) -> Reading:
    """Drops a call at the very end of an answer that reached its length limit, since it may be incomplete."""
    last = found.spans[-1] if found.spans else None
    if not found.calls or last is None or last.end < len(text.rstrip()):
        return found
    cut = Issue("cut_off", text[last.start : last.end][:200], "the answer reached its length limit")
    return replace(found, calls=found.calls[:-1], issues=(*found.issues, cut))


@dataclass(slots=True)
class Piece:
    """The reading of the text from an opener to `end`. It is prose if it has neither calls nor issues."""

    start: int
    end: int
    calls: Sequence[ToolCall] = ()
    issues: Sequence[Issue] = ()
    cut: bool = False
    """More text may change the reading."""
    is_bare: bool = False
    """No marker announced the call."""
    opens_block: bool = False
    """It opens a fenced block whose content is read."""
    block: int | None = None
    """The start of the fenced block that begins with the call."""

    @property
    def is_call(self) -> bool:
        """Whether the text of the piece is a call, even an unusable one. A quoted call stays prose."""
        return bool(self.calls) or any(found.kind != "quoted" for found in self.issues)


def issue(kind: IssueKind, text: str, start: int, detail: str = "") -> Issue:
    return Issue(kind, text[start : start + 200], detail)
