"""The text that is read for calls, and what was found in it: calls, where they stand, and what could not be used."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal

from ...core.messages import ToolCall
from ...core.tooling import ProposalKind
from .loose_json import Unreadable, read_value

_DECODER = json.JSONDecoder(strict=False)
_HALF_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")
_STRUCTURE = re.compile(r"\s*[\[{(]")
_INTEGER = re.compile(r"\s*[-+]?\d+\s*\Z")
_NUMBER = re.compile(r"\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\s*\Z")
_WORDS = {"true": True, "false": False, "null": None, "none": None}
STRUCTURES = frozenset({"array", "list", "tuple", "object", "dict"})
_NUMBERS = frozenset({"integer", "int", "number", "float", "double"})
_BOOLEANS = frozenset({"boolean", "bool"})
_ANYTHING = frozenset({"boolean", "number", "array", "object", "null"})


class Source:
    __slots__ = ("_found", "_line", "_patience", "_spare", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._found: dict[re.Pattern[str], tuple[int, re.Match[str] | None]] = {}
        # A failure of the fast decoder costs a walk over the whole text (it counts lines), so there is an end to them.
        self._patience = 50
        self._spare = len(text) // 8 + 10_000
        self._line: tuple[re.Pattern[str] | None, int, int, bool] = (None, 0, -1, False)

    def find(self, pattern: re.Pattern[str], at: int) -> re.Match[str] | None:
        """Returns the first match from `at` on; asked with growing `at`, the text is walked once per pattern."""
        if known := self._found.get(pattern):
            since, match = known
            if since <= at and (match is None or match.start() >= at):
                return match
        match = pattern.search(self.text, at)
        self._found[pattern] = at, match
        return match

    def end_of(self, pattern: re.Pattern[str], at: int) -> int:
        """Returns where the match at `at` ends, or `at` itself where there is none."""
        found = pattern.match(self.text, at)
        return found.end() if found else at

    def line_end(self, at: int) -> int:
        end = self.text.find("\n", at)
        return end if end >= 0 else len(self.text)

    def may_look_again(self, characters: int) -> bool:
        """Says whether so much text that was read in vain may be read once more from within, which adds up."""
        self._spare -= characters
        return self._spare >= 0

    def begins_line(self, at: int) -> bool:
        return at == 0 or self.text.startswith("\n", at - 1)

    def before(self, at: int, most: int) -> str:
        """Returns what stands before `at` on its line, its last `most` characters at most."""
        start = at - most if at > most else 0
        line = self.text.rfind("\n", start, at) + 1
        return self.text[line or start : at]

    def is_line_of(self, pattern: re.Pattern[str], at: int) -> bool:
        """Says whether the whole line of `at` fits; asked often about one line, it is looked at once."""
        known, start, end, fits = self._line
        if known is not pattern or not start <= at <= end:
            start, end = self.text.rfind("\n", 0, at) + 1, self.line_end(at)
            fits = pattern.fullmatch(self.text, start, end) is not None
            self._line = pattern, start, end, fits
        return fits

    def is_last_line(self) -> bool:
        """Says whether the line that was looked at is the last one, and perhaps not yet complete."""
        return self._line[2] == len(self.text)

    def value(self, at: int) -> tuple[Any, int]:
        """Returns the JSON (or nearly JSON) value at `at` and where it ends; raises Unreadable."""
        if self._patience:
            try:
                value, end = _DECODER.raw_decode(self.text, at)
            except (ValueError, RecursionError):
                self._patience -= 1
            else:
                return (_with_whole_characters(value) if _HALF_CHARACTER.search(self.text, at, end) else value), end
        return read_value(self.text, at)


def _with_whole_characters(value: Any) -> Any:
    """The value without halves of surrogate pairs, which no wire can carry."""
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case list():
            return [_with_whole_characters(item) for item in value]
        case dict():
            return {_with_whole_characters(key): _with_whole_characters(item) for key, item in value.items()}
    return value


def parse_object(text: str) -> Any:
    """Returns the one value that a string of arguments is; raises Unreadable."""
    stripped = text.strip()
    value, end = Source(stripped).value(0)
    if stripped[end:].strip(" \n\t}]`;,"):
        raise Unreadable(end)
    return value


def types_of(schema: Any) -> frozenset[str]:
    """Returns the names of all types that the schema allows; empty when it does not say."""
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
    """Returns `text` as one of the types that the schema allows, as a string where it is none of them."""
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
    """Something that looks like a call and was not taken for one; `str()` is the sentence for the model."""

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
    """A call that is not meant to be run, as far as can be told; `kind` is what it stands beside."""

    call: ToolCall
    kind: ProposalKind


@dataclass(frozen=True, slots=True)
class Reading:
    """`spans` are the stretches of the text that belong to calls, also to unusable ones; `prose` is all the rest.

    Proposals are not among the calls, and their text is prose.
    """

    calls: tuple[ToolCall, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    spans: tuple[Span, ...] = ()
    issues: tuple[Issue, ...] = ()
    prose: str = ""


def without_cut_call(found: Reading, text: str) -> Reading:
    """Drops, of an answer that ended at its length limit, a call that ends where the text does: it may have gone on."""
    last = found.spans[-1] if found.spans else None
    if not found.calls or last is None or last.end < len(text.rstrip()):
        return found
    cut = Issue("cut_off", text[last.start : last.end][:200], "the answer reached its length limit")
    return replace(found, calls=found.calls[:-1], issues=(*found.issues, cut))


@dataclass(slots=True)
class Piece:
    """What was made of the text from an opener to `end`; one without calls and issues is prose."""

    start: int
    end: int
    calls: Sequence[ToolCall] = ()
    issues: Sequence[Issue] = ()
    cut: bool = False
    """Whether more text may make something else of it."""
    is_bare: bool = False
    """Whether no marker said that a call comes."""

    @property
    def is_call(self) -> bool:
        """Whether the text of the piece is a call, and so no prose; a quotation stays what it is."""
        return bool(self.calls) or any(found.kind != "quoted" for found in self.issues)


def issue(kind: IssueKind, text: str, start: int, detail: str = "") -> Issue:
    return Issue(kind, text[start : start + 200], detail)
