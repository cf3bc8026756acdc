"""Strings between quotation marks, with raw newlines in them, and numbers with the sums that models write for them."""
# ruff: noqa: RUF001

import ast
import operator
import re
from typing import Any

QUOTE = re.compile(r"[rRuUfFbB]{0,2}(?:\"\"\"|'''|[\"'`“‘]|\\[\"']|<\|\\?\"\|>|<escape>)")
_CLOSERS = {"“": "”", "‘": "’"}
_ESCAPES = dict(zip("ntrbf/\\\"'\n`_", "\n\t\r\b\f/\\\"'|`_", strict=True)) | {"\n": ""}
_CODE = re.compile(r"u([0-9a-fA-F]{4})(?:\\u([dD][c-fC-F][0-9a-fA-F]{2}))?|x([0-9a-fA-F]{2})|U([0-9a-fA-F]{8})")
_PLAIN = {'"': re.compile(r'"([^"\\]*)"(?=\s*[,}\]):])'), "'": re.compile(r"'([^'\\]*)'(?=\s*[,}\]):])")}
_STOPS = {
    quote: re.compile(rf"\\|{re.escape(closer)}")
    for quote, closer in ((q, _CLOSERS.get(q, q)) for q in ('"', "'", "`", "“", "‘", '"""', "'''"))
} | {quote: re.compile(re.escape(quote)) for quote in ('<|"|>', '<|\\"|>', "<escape>", '\\"', "\\'")}
_NUMBER = r"[-+]?(?:0[xX][0-9a-fA-F]+|(?:\d[\d_]*)?\.?\d[\d_]*\.?(?:[eE][-+]?\d+)?)"
_OPERATOR = r"\s*(?:\*\*|//|[-+*/%])\s*"
_TERM = rf"(?:{_NUMBER}|\(\s*{_NUMBER}(?:{_OPERATOR}{_NUMBER})*\s*\))"
_SUM = re.compile(rf"{_TERM}(?:{_OPERATOR}{_TERM})*")
_PLAIN_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,17})(\.\d{1,30})?(?=[,)\]}\n])")
_END = re.compile(r"\s*(?:[,)\]};:<`]|//|#|/\*|\n|$)")
_DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}")
_OPERATIONS: dict[type[ast.operator], Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_LONGEST = 100


def read_string(text: str, at: int) -> tuple[str, int]:
    """The string that opens at `at` and where it ends, or -1 when it does not end."""
    if (plain := _PLAIN.get(text[at])) and (found := plain.match(text, at)):
        return found.group(1), found.end()
    opened = QUOTE.match(text, at)
    assert opened is not None
    quote = opened.group().lstrip("rRuUfFbB")
    raw = opened.group()[0] in "rR"
    return _until(text, opened.end(), quote, raw=raw)


def _until(text: str, at: int, quote: str, *, raw: bool) -> tuple[str, int]:
    parts: list[str] = []
    while found := _STOPS[quote].search(text, at):
        parts.append(text[at : found.start()])
        if found.group() != "\\":
            return "".join(parts), found.end()
        part, at = _escape(text, found.start(), raw=raw)
        parts.append(part)
    return "", -1


def _escape(text: str, at: int, *, raw: bool) -> tuple[str, int]:
    """What a backslash and its successors stand for; one that escapes nothing stays, as in Python."""
    following = text[at + 1 : at + 2]
    if raw or not following:
        return text[at : at + 2], at + 2
    if following in _ESCAPES:
        return _ESCAPES[following], at + 2
    if found := _CODE.match(text, at + 1):
        return _character(*found.groups()), found.end()
    return "\\" + following, at + 2


def _character(first: str | None, second: str | None, short: str | None, long: str | None) -> str:
    if short or long:
        code = int(short or long or "0", 16)
        return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"
    halves = bytes.fromhex((first or "") + (second or ""))
    return halves.decode("utf-16-be", "replace")


def number_at(text: str, at: int) -> tuple[int | float, int] | None:
    """The number at `at` and where it ends; none where a date or a word begins with digits."""
    if plain := _PLAIN_NUMBER.match(text, at):
        return (float if plain[1] else int)(plain[0]), plain.end()
    found = _SUM.match(text, at)
    if not found or found.end() - at > _LONGEST or _DATE.match(text, at) or not _END.match(text, found.end()):
        return None
    value = _sum_value(found.group())
    return None if value is None else (value, found.end())


def _sum_value(text: str) -> int | float | None:
    try:
        value = _result(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, ArithmeticError):
        return None
    return value


def _result(node: ast.expr) -> int | float:
    match node:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_result(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _result(operand)
        case ast.BinOp(left=left, op=operation, right=right):
            return _operation_value(operation, _result(left), _result(right))
    raise ValueError(node)


def _operation_value(operation: ast.operator, left: int | float, right: int | float) -> int | float:
    if isinstance(operation, ast.Pow) and (abs(right) > 64 or abs(left) > 1e6):
        raise ValueError(right)
    value = _OPERATIONS[type(operation)](left, right)
    if not isinstance(value, int | float):
        raise ValueError(value)
    return value
