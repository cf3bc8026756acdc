"""Strings between quotation marks: of JSON, Python and models' own, with raw newlines in them."""
# ruff: noqa: RUF001

import re

QUOTE = re.compile(r"[rRuUfFbB]{0,2}(?:\"\"\"|'''|[\"'`“‘]|\\[\"']|<\|\\?\"\|>|<escape>)")
_CLOSERS = {"“": "”", "‘": "’"}
_ESCAPES = dict(zip("ntrbf/\\\"'\n`_", "\n\t\r\b\f/\\\"'|`_", strict=True)) | {"\n": ""}
_CODE = re.compile(r"u([0-9a-fA-F]{4})(?:\\u([dD][c-fC-F][0-9a-fA-F]{2}))?|x([0-9a-fA-F]{2})|U([0-9a-fA-F]{8})")
_PLAIN = {'"': re.compile(r'"([^"\\]*)"(?=\s*[,}\]):])'), "'": re.compile(r"'([^'\\]*)'(?=\s*[,}\]):])")}
_STOPS = {
    quote: re.compile(rf"\\|{re.escape(closer)}")
    for quote, closer in ((q, _CLOSERS.get(q, q)) for q in ('"', "'", "`", "“", "‘", '"""', "'''"))
} | {quote: re.compile(re.escape(quote)) for quote in ('<|"|>', '<|\\"|>', "<escape>", '\\"', "\\'")}


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
