"""Values in JSON or Python notation as loosely as models write them, in one pass over the text."""
# ruff: noqa: RUF001

import re
from typing import Any

from .literals import QUOTE, number_at, read_string

_SPACE = re.compile(r"(?>(?:\s+|//[^\n]*|#[^\n]*|/\*[^*]{0,300}+\*/)*)")
_SOLID = frozenset(map(chr, range(0x21, 0x7F))) - {"/", "#"}
_QUOTING = frozenset("\"'`“‘\\<rRuUfFbB")
_KEY = re.compile(r"[\w$][\w.$\-]*")
_ENTRY = re.compile(r"(?:\"([^\"\\]*)\"|([A-Za-z_$][\w.$\-]*))\s*[:=]\s*")
_WORDS = re.compile(r"[\w.\-/@%+$\\]+(?: [\w.\-/@%+$\\]+)*")
_CONSTANTS = {
    "true": True,
    "false": False,
    "null": None,
    "True": True,
    "False": False,
    "None": None,
    "undefined": None,
    "NaN": None,
    "TRUE": True,
    "FALSE": False,
}
CONSTANT = re.compile(rf"({'|'.join(_CONSTANTS)})(?![\w.$\-])")
_CLOSERS = {"{": "}", "[": "]", "(": ")"}
# Where the block or the element around a value ends, the value has ended too, though a bracket may be missing.
_END_AROUND = re.compile(
    r"`{3,}[ \t]*(?=\r?\n|\Z|<)|</[A-Za-z_][\w:.\-]*>|<[|｜/][^<>\"\n]{1,60}[|｜]>|\[END_TOOL_REQUEST\]"
)
_DEEPEST = 64


class Unreadable(ValueError):
    """No value: the text stops making sense at `at`, or simply ends (`cut`)."""

    def __init__(self, at: int, *, cut: bool = False) -> None:
        self.at = at
        self.cut = cut


def skip_space(text: str, at: int) -> int:
    """Past white space and comments; raises at the end of the text, where a value can only be cut off."""
    if text[at : at + 1] in _SOLID:
        return at
    found = _SPACE.match(text, at)
    end = found.end() if found else at
    if end >= len(text):
        raise Unreadable(end, cut=True)
    return end


def read_value(text: str, at: int, depth: int = 0) -> tuple[Any, int]:
    """The value at `at` and where it ends; raises Unreadable."""
    at = skip_space(text, at)
    char = text[at]
    if char in "(+-.0123456789" and (found := number_at(text, at)):
        return found
    if char in _CLOSERS:
        if depth >= _DEEPEST:
            raise Unreadable(at)
        return _object(text, at + 1, depth + 1) if char == "{" else _array(text, at, depth + 1)
    if char in _QUOTING and QUOTE.match(text, at):
        return _string(text, at)
    return read_word(text, at)


def _string(text: str, at: int) -> tuple[str, int]:
    value, end = read_string(text, at)
    if end < 0:
        raise Unreadable(len(text), cut=True)
    return value, end


def read_word(text: str, at: int) -> tuple[Any, int]:
    """A constant, or a word that somebody forgot to quote."""
    if found := CONSTANT.match(text, at):
        return _CONSTANTS[found[1]], found.end()
    if (words := _WORDS.match(text, at)) and words[0].strip("."):
        end = words.end()
        if end >= len(text):
            raise Unreadable(end, cut=True)
        if text[end] in ",)]}\n;":
            return words[0].replace("\\_", "_"), end
    raise Unreadable(at)


def _object(text: str, at: int, depth: int) -> tuple[Any, int]:
    """From behind the brace. Without colons it is a Python set, and a list to us."""
    items: dict[str, Any] = {}
    members: list[Any] = []
    while not _ends(text, at := _next(text, at), "}"):
        if entry := _ENTRY.match(text, at):
            items[entry[entry.lastindex or 1]], at = read_value(text, entry.end(), depth)
            continue
        key, at = _key(text, at, depth)
        at = skip_space(text, at)
        if text[at] in ":=":
            items[str(key)], at = read_value(text, at + 1, depth)
        elif text[at] in ",}" and not items:
            members.append(key)
        else:
            raise Unreadable(at)
    return (members if members and not items else items), _past(text, at, "}")


def _key(text: str, at: int, depth: int) -> tuple[Any, int]:
    if QUOTE.match(text, at):
        return _string(text, at)
    if found := _KEY.match(text, at):
        return found.group(), found.end()
    return read_value(text, at, depth)


def _array(text: str, at: int, depth: int) -> tuple[Any, int]:
    """A list or a tuple; parentheses around one value are only parentheses."""
    closer = _CLOSERS[text[at]]
    items: list[Any] = []
    commas = False
    at += 1
    while not _ends(text, at := skip_space(text, at), closer):
        if text[at] == ",":
            commas, at = True, at + 1
            continue
        item, at = read_value(text, at, depth)
        items.append(item)
    return (items[0] if closer == ")" and len(items) == 1 and not commas else items), _past(text, at, closer)


def _ends(text: str, at: int, closer: str) -> bool:
    return text[at] == closer or (text[at] in "`<[" and _END_AROUND.match(text, at) is not None)


def _past(text: str, at: int, closer: str) -> int:
    return at + (text[at] == closer)


def _next(text: str, at: int) -> int:
    """To the next entry or the closing bracket, past commas."""
    while text[at := skip_space(text, at)] == ",":
        at += 1
    return at
