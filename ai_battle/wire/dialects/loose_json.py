"""Reads values in JSON or Python notation, with all the errors that models make, in one pass over the text."""
# ruff: noqa: RUF001

import ast
import operator
import re
from collections.abc import Callable
from typing import Any

_SPACE = re.compile(r"(?>(?:\s+|//[^\n]*|#[^\n]*|/\*[^*]{0,300}+\*/)*)")
_SOLID = frozenset(map(chr, range(0x21, 0x7F))) - {"/", "#"}
_KEY = re.compile(r"[\w$][\w.$\-]*")
_ENTRY = re.compile(r"(?:\"([^\"\\]*)\"|([A-Za-z_$][\w.$\-]*))\s*[:=]\s*")
_WORDS = re.compile(r"[\w.\-/@%+$\\]+(?: [\w.\-/@%+$\\]+)*")
_CONSTANTS = dict.fromkeys(("null", "None", "undefined", "NaN"), None) | dict.fromkeys(("true", "True", "TRUE"), True)
_CONSTANTS |= dict.fromkeys(("false", "False", "FALSE"), False)
CONSTANT = re.compile(rf"({'|'.join(_CONSTANTS)})(?![\w.$\-])")
_CLOSERS = {"{": "}", "[": "]", "(": ")"}
# The end of the block or element around a value ends the value too, even if brackets are missing.
_END_AROUND = re.compile(
    r"`{3,}[ \t]*(?=\r?\n|\Z|<)|</[A-Za-z_][\w:.\-]*>|<[|｜/][^<>\"\n]{1,60}[|｜]>|\[END_TOOL_REQUEST\]"
)
_MAX_DEPTH = 64  # levels of nesting, well below Python's limit on recursion

QUOTE = re.compile(r"[rRuUfFbB]{0,2}(?:\"\"\"|'''|[\"'`“‘]|\\[\"']|<\|\\?\"\|>|<escape>)")
_QUOTING = frozenset("\"'`“‘\\<rRuUfFbB")
_ESCAPES = dict(zip("ntrbf/\\\"'\n`_", "\n\t\r\b\f/\\\"'|`_", strict=True)) | {"\n": ""}
_CODE = re.compile(r"u[0-9a-fA-F]{4}(?:\\u[dD][c-fC-F][0-9a-fA-F]{2})?|x[0-9a-fA-F]{2}|U[0-9a-fA-F]{8}")
_PLAIN = {'"': re.compile(r'"([^"\\]*)"(?=\s*[,}\]):])'), "'": re.compile(r"'([^'\\]*)'(?=\s*[,}\]):])")}
_STOPS = {
    quote: re.compile(rf"\\|{closer}")
    for quote, closer in {**{q: q for q in ('"', "'", "`", '"""', "'''")}, "“": "”", "‘": "’"}.items()
} | {quote: re.compile(re.escape(quote)) for quote in ('<|"|>', '<|\\"|>', "<escape>", '\\"', "\\'")}

_NUMBER = r"[-+]?(?:0[xX][0-9a-fA-F]+|(?:\d[\d_]*)?\.?\d[\d_]*\.?(?:[eE][-+]?\d+)?)"
_OPERATOR = r"\s*(?:\*\*|//|[-+*/%])\s*"
_TERM = rf"(?:{_NUMBER}|\(\s*{_NUMBER}(?:{_OPERATOR}{_NUMBER})*\s*\))"
_SUM = re.compile(rf"{_TERM}(?:{_OPERATOR}{_TERM})*")
_PLAIN_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,17})(\.\d{1,30})?(?=[,)\]}\n])")
_END = re.compile(r"\s*(?:[,)\]};:<`]|//|#|/\*|\n|$)")
_DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}")
_LONGEST_SUM = 100  # characters


class Unreadable(ValueError):
    """There is no value: the text is invalid at `at`, or it ends there (`cut`)."""

    def __init__(self, at: int, *, cut: bool = False) -> None:
        self.at = at
        self.cut = cut


def skip_space(text: str, at: int) -> int:
    """Skips white space and comments. Raises `Unreadable` at the end of the text, where a value is cut off."""
    if text[at : at + 1] in _SOLID:
        return at
    found = _SPACE.match(text, at)
    end = found.end() if found else at
    if end >= len(text):
        raise Unreadable(end, cut=True)
    return end


def read_value(text: str, at: int, depth: int = 0) -> tuple[Any, int]:
    """Returns the value at `at` and its end. Raises `Unreadable`."""
    at = skip_space(text, at)
    char = text[at]
    if char in "(+-.0123456789" and (found := _read_number(text, at)):
        return found
    if char in _CLOSERS:
        if depth >= _MAX_DEPTH:
            raise Unreadable(at)
        return _read_object(text, at + 1, depth + 1) if char == "{" else _read_array(text, at, depth + 1)
    if char in _QUOTING and QUOTE.match(text, at):
        return _read_string(text, at)
    return read_word(text, at)


def read_word(text: str, at: int) -> tuple[Any, int]:
    """Reads a constant or unquoted words."""
    if found := CONSTANT.match(text, at):
        return _CONSTANTS[found[1]], found.end()
    if (words := _WORDS.match(text, at)) and words[0].strip("."):
        end = words.end()
        if end >= len(text):
            raise Unreadable(end, cut=True)
        if text[end] in ",)]}\n;":
            return words[0].replace("\\_", "_"), end
    raise Unreadable(at)


def _read_object(text: str, at: int, depth: int) -> tuple[Any, int]:
    """Reads an object from after its brace on. Without colons it is a Python set, which becomes a list."""
    items: dict[str, Any] = {}
    members: list[Any] = []
    while not _ends(text, at := skip_space(text, at), "}"):
        if text[at] == ",":
            at += 1
        elif entry := _ENTRY.match(text, at):
            items[entry[entry.lastindex or 1]], at = read_value(text, entry.end(), depth)
        else:
            at = _read_entry(text, at, depth, items, members)
    return (members if members and not items else items), at + (text[at] == "}")


def _read_entry(text: str, at: int, depth: int, items: dict[str, Any], members: list[Any]) -> int:
    """Reads a key in any notation with its value, or a member of a set. Returns its end."""
    word = None if QUOTE.match(text, at) else _KEY.match(text, at)
    key, at = (word.group(), word.end()) if word else read_value(text, at, depth)
    at = skip_space(text, at)
    if text[at] in ":=":
        items[str(key)], at = read_value(text, at + 1, depth)
    elif text[at] in ",}" and not items:
        members.append(key)
    else:
        raise Unreadable(at)
    return at


def _read_array(text: str, at: int, depth: int) -> tuple[Any, int]:
    """Reads a list or a tuple. Parentheses around a single value do not make a tuple."""
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
    is_value = closer == ")" and len(items) == 1 and not commas
    return (items[0] if is_value else items), at + (text[at] == closer)


def _ends(text: str, at: int, closer: str) -> bool:
    return text[at] == closer or (text[at] in "`<[" and _END_AROUND.match(text, at) is not None)


def _read_string(text: str, at: int) -> tuple[str, int]:
    """Reads the string that opens at `at`, which may contain raw newlines."""
    if (plain := _PLAIN.get(text[at])) and (found := plain.match(text, at)):
        return found.group(1), found.end()
    opened = QUOTE.match(text, at)
    assert opened is not None
    stop, at = _STOPS[opened.group().lstrip("rRuUfFbB")], opened.end()
    parts: list[str] = []
    while found := stop.search(text, at):
        parts.append(text[at : found.start()])
        if found.group() != "\\":
            return "".join(parts), found.end()
        part, at = _read_escape(text, found.start(), is_raw=opened.group()[0] in "rR")
        parts.append(part)
    raise Unreadable(len(text), cut=True)


def _read_escape(text: str, at: int, *, is_raw: bool) -> tuple[str, int]:
    """Decodes an escape sequence. A backslash that escapes nothing is kept, as in Python."""
    following = text[at + 1 : at + 2]
    if is_raw or not following:
        return text[at : at + 2], at + 2
    if following in _ESCAPES:
        return _ESCAPES[following], at + 2
    if not (found := _CODE.match(text, at + 1)):
        return "\\" + following, at + 2
    digits = found[0][1:]
    if following == "u":
        return bytes.fromhex(digits.replace("\\u", "")).decode("utf-16-be", "replace"), found.end()
    code = int(digits, 16)
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd", found.end()


def _read_number(text: str, at: int) -> tuple[int | float, int] | None:
    """Reads a number or an arithmetic expression. Returns None if digits begin a date or a word."""
    if plain := _PLAIN_NUMBER.match(text, at):
        return (float if plain[1] else int)(plain[0]), plain.end()
    found = _SUM.match(text, at)
    if not found or found.end() - at > _LONGEST_SUM or _DATE.match(text, at) or not _END.match(text, found.end()):
        return None
    try:
        return _result(ast.parse(found.group().strip(), mode="eval").body), found.end()
    except (SyntaxError, ValueError, ArithmeticError):
        return None


def _result(node: ast.expr) -> int | float:
    match node:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.UnaryOp(op=sign, operand=operand):
            return -_result(operand) if isinstance(sign, ast.USub) else _result(operand)
        case ast.BinOp(left=left, op=operation, right=right):
            return _OPERATIONS[type(operation)](_result(left), _result(right))
    raise ValueError(node)


def _power(base: float, exponent: float) -> int | float:
    # A model's `9**9**9` must not take endless time and memory; complex results are not JSON.
    if abs(exponent) > 64 or abs(base) > 1e6 or base < 0 < exponent % 1:
        raise ValueError(exponent)
    return float(base**exponent) if exponent < 0 else operator.pow(base, exponent)


_OPERATIONS: dict[type[ast.operator], Callable[[Any, Any], int | float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
