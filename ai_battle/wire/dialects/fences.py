"""Fenced blocks and inline code: which of them hold calls, and which are only shown."""

import re
from dataclasses import dataclass
from functools import lru_cache

from .source import Source
from .spellings import SPELLINGS

_FENCE = re.compile(r"(?P<marks>`{3,}|~{3,})[ \t]*(?P<language>[\w.+#\-/]*)(?P<rest>[^\n`]*)(?:\n|\Z)")
_GLUED = re.compile(
    r"(?P<marks>`{3,}|~{3,})[ \t]*+(?P<language>tool_calls?|tool_code|tools?|json)?\s*+"
    r"(?=\[|\{\s{0,200}(?:[\"'“}]|\w{1,80}\s{0,200}:))",
    re.IGNORECASE,
)
_FENCED_LINE = re.compile(r"^[ \t]*(?:`{3}|~{3})", re.MULTILINE)
_WINDOW = 2_000
RUN = re.compile(r"`+|~+")
_INDENT = re.compile(r"[ \t\u200b\ufeff]*(?:[-*+]|\d+[.)])?[ \t]*")
_LISTED = re.compile(r"\s*(?:[-*+]|\d+[.)])\s|\s{2}")
_ANSWERED = re.compile(
    r"\b(?:tool|function)[ _-]?(?:response|result|output)s?\W{0,4}$|^\W*observation\W{0,4}$", re.IGNORECASE
)
_TRACED = re.compile(r"\s*File \"[^\"\n]*\", line \d")
_QUOTATION = re.compile(r"(?<![\[,(])(?<!\": )(?:[\"'“”„«»「『]|~~)[ \u00a0]?\Z")
_QUOTED = re.compile(r"[\s)\]]{0,5}(?:[\"'“”«»」』]|~~)")
_WORD = re.compile(r"[^\W\d_]{2}")
_ALONE = re.compile(r"[\s\[\](){}\-*+\d.,;:]*+(?>(?:`++[^`\n]*+`++[\s\[\](){},.;]*+)+)")
CALLING = frozenset(SPELLINGS["fence"])
READABLE = frozenset(("", *SPELLINGS["data"]))


_HEADER = re.compile(r"\s*(?:async )?(?:def|for|while|if|with|class|try|else|elif)\b[^\n]*:\Z")
_PROGRAMS = frozenset(SPELLINGS["program"])


@dataclass(slots=True)  # made for every fence there is, and frozen ones take four times as long
class Fence:
    marks: str
    language: str
    inside: int
    """Where the content begins."""
    indent: int = 0
    shown: bool = False
    """Whether it is set off as a quotation: indented as code is, or announced as the answer of a tool."""

    @property
    def closing(self) -> re.Pattern[str]:
        return _closing(self.marks[0], len(self.marks))


@lru_cache(maxsize=100)
def _closing(mark: str, count: int) -> re.Pattern[str]:
    return re.compile(rf"^[ \t]*{mark}{{{count},}}[ \t]*$", re.MULTILINE)


def fence_at(source: Source, at: int) -> Fence | None:
    """The fenced block that opens at `at`: at the start of a line, or where a language and a line break follow."""
    text, before = source.text, source.before(at, 60)
    found = _opening(text, at, before)
    if not found:
        return None
    shown = is_set_off(source, at, before)
    return Fence(found["marks"], (found["language"] or "").lower(), found.end(), len(before), shown)


def _opening(text: str, at: int, before: str) -> re.Match[str] | None:
    if not before or _INDENT.fullmatch(before):
        return _GLUED.match(text, at) or _FENCE.match(text, at)
    found = _FENCE.match(text, at)
    announced = found and (found["language"] or before.rstrip().endswith(":"))
    return found if announced and not before.endswith(('"', "'", "“", "(")) else None


def is_set_off(source: Source, at: int, before: str) -> bool:
    """Whether it is indented as code is, or announced as the answer of a tool; `before` is its line up to there."""
    start = at - len(before)
    above = source.text[start - 300 if start > 300 else 0 : start]
    line = above.rstrip().rpartition("\n")[2]
    indented = before.startswith(("    ", "\t")) and not before.strip() and above.rstrip(" \t").endswith("\n\n")
    return (indented and not _LISTED.match(line)) or _says_answer(before.strip() or line)


def holds_fences(source: Source, fence: Fence) -> bool:
    """More marks than needed are there because the block quotes others; JSON may need them for a string."""
    if fence.language in CALLING:
        return False
    if fence.language != "json":
        return True
    close = source.find(fence.closing, fence.inside)
    return close is not None and _FENCED_LINE.search(source.text, fence.inside, close.start()) is not None


def is_within_code(source: Source, fence: Fence | None, at: int, name: str) -> bool:
    """Whether it stands in a function, a loop or the like of a program, or in one that defines its function.

    So does what is indented as code: none of them is a call to make now.
    """
    if fence is None:
        line = source.before(at, _WINDOW)
        above = source.text[max(0, at - _WINDOW) : at - len(line)].rstrip()
        headed = line.startswith(("  ", "\t")) and _HEADER.match(above.rpartition("\n")[2]) is not None
        return headed or (bool(above) and is_set_off(source, at, line))
    if fence.language not in _PROGRAMS:
        return False
    above = source.text[max(fence.inside, at - _WINDOW) : at - len(source.before(at, _WINDOW))]
    if ("def " in above or "import" in above) and re.search(
        rf"\b(?:def|import)\b[^\n(]{{0,200}}\b{re.escape(name)}\b", above
    ):
        return True
    outer = [line for line in above.splitlines() if line[fence.indent : fence.indent + 1].strip()]
    indented = not source.before(at, _WINDOW)[fence.indent : fence.indent + 1].strip()
    return bool(indented and outer and outer[-1].rstrip().endswith(":"))


def is_answer(source: Source, at: int) -> bool:
    """Whether the words before it, on its line or else above it, say that it is what a tool returned."""
    before = source.before(at, 60)
    label = before.rstrip(" \t`[\"'(*") or source.text[max(0, at - 180) : at - len(before)].rstrip().rsplit("\n", 1)[-1]
    return _says_answer(label)


def _says_answer(label: str) -> bool:
    return _ANSWERED.search(label, max(0, len(label) - 40)) is not None or _TRACED.match(label) is not None


def is_quotation(text: str, start: int, end: int) -> bool:
    """Whether it stands between quotation marks, or struck out, in a text that says more than that."""
    closed = _QUOTED.match(text, end)
    opened = _QUOTATION.search(text[max(0, start - 7) : start]) if closed else None
    if not closed or not opened:
        return False
    return bool(_WORD.search(text, max(0, start - 200), start - 1) or _WORD.search(text, closed.end(), end + 200))


@lru_cache(maxsize=100)
def _code_end(count: int) -> re.Pattern[str]:
    return re.compile(rf"(?<!`)`{{{count}}}(?!`)|\n\s*\n")


def inline_code_end(source: Source, at: int, inside: int) -> tuple[int, bool]:
    """Where inline code that is only shown ends; just behind its marks if it is no code or its line is nothing else."""
    found = source.find(_code_end(inside - at), inside)
    if not found or found.group()[0] != "`":
        return inside, found is None
    if source.line_is(_ALONE, at):
        return inside, source.line_may_grow()
    return found.end(), False
