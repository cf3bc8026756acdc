"""Tells fenced blocks, inline code and quotations that hold calls from those that only show something."""

import re
from dataclasses import dataclass
from functools import lru_cache

from .reading import Source

CALL_LABELS = frozenset(
    {"tool", "tool_call", "tool_calls", "tool_code", "tool-call", "tool-calls", "toolcall", "toolcalls", "tool_request"}
    | {"tool_use", "function", "function_call", "functions", "action", "call"}
)
_PROGRAMS = frozenset({"python", "py", "python3"})
READABLE = CALL_LABELS | _PROGRAMS | {"", "json", "jsonc", "json5", "jsonl", "xml", "tools"}

_FENCE = re.compile(r"(?P<marks>`{3,}|~{3,})[ \t]*(?P<language>[\w.+#\-/]*)(?P<rest>[^\n`]*)(?:\n|\Z)")
_GLUED = re.compile(
    r"(?P<marks>`{3,}|~{3,})[ \t]*+(?P<language>(?:tool_calls?|tool_code|tools?|json)?)\s*+"
    r"(?=\[|\{\s{0,200}(?:[\"'“}]|\w{1,80}\s{0,200}:))",
    re.IGNORECASE,
)
_WINDOW_CHARACTERS = 2_000
_INDENT = re.compile(r"[ \t\u200b\ufeff]*(?:[-*+]|\d+[.)])?[ \t]*")
_LIST_ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s|\s{2}")
_ANSWER_LABEL = re.compile(
    r"\b(?:tool|function)[ _-]?(?:response|result|output)s?\W{0,4}$|^\W*observation\W{0,4}$", re.IGNORECASE
)
_TRACED = re.compile(r"\s*File \"[^\"\n]*\", line \d")
_QUOTATION = re.compile(r"(?<![\[,(])(?<!\": )(?:[\"'“”„«»「『]|~~)[ \u00a0]?[\[(]?\Z")
_QUOTED = re.compile(r"[\s)\]]{0,5}(?:[\"'“”«»」』]|~~)")
_WORD = re.compile(r"[^\W\d_]{2}")
_ALONE = re.compile(r"[\s\[\](){}\-*+\d.,;:]*+(?>(?:`++[^`\n]*+`++[\s\[\](){},.;]*+)+)")
_HEADER = re.compile(r"\s*(?:async )?(?:def|for|while|if|with|class|try|else|elif)\b[^\n]*:\Z")


@dataclass(slots=True)  # made for every fence; a frozen dataclass takes four times as long
class Fence:
    marks: str
    language: str
    inside: int
    """The position where the content begins."""
    indent: int = 0
    is_shown: bool = False
    """The block is a quotation: indented like code, or announced as a tool's result."""

    @property
    def closing(self) -> re.Pattern[str]:
        return _closing(self.marks[0], len(self.marks))


@lru_cache(maxsize=100)
def _closing(mark: str, count: int) -> re.Pattern[str]:
    return re.compile(rf"^[ \t]*{mark}{{{count},}}[ \t]*$", re.MULTILINE)


def fence_at(source: Source, at: int) -> Fence | None:
    """Returns the fenced block that opens at `at`, at the start of a line or later with a language or after a colon."""
    text, before = source.text, source.before(at, 60)
    if _INDENT.fullmatch(before):
        found = _GLUED.match(text, at) or _FENCE.match(text, at)
    else:
        found = _FENCE.match(text, at)
        is_announced = found and (found["language"] or before.rstrip().endswith(":"))
        found = found if is_announced and not before.endswith(('"', "'", "“", "(")) else None
    if not found:
        return None
    return Fence(found["marks"], found["language"].lower(), found.end(), len(before), is_set_off(source, at, before))


def is_set_off(source: Source, at: int, before: str) -> bool:
    """Returns whether a place is indented like code or announced as a tool's result; `before` is its line so far."""
    start = at - len(before)
    above = source.text[start - 300 if start > 300 else 0 : start]
    line = above.rstrip().rpartition("\n")[2]
    is_indented = before.startswith(("    ", "\t")) and not before.strip() and above.rstrip(" \t").endswith("\n\n")
    return (is_indented and not _LIST_ITEM.match(line)) or _says_answer(before.strip() or line)


def is_within_code(source: Source, fence: Fence | None, at: int, name: str) -> bool:
    """Returns whether a place is part of a program or indented as code, so that no call there is meant.

    A program is one that defines or imports the function `name`, or whose call is in a block such as a loop.
    """
    line = source.before(at, _WINDOW_CHARACTERS)
    above = source.text[max(fence.inside if fence else 0, at - _WINDOW_CHARACTERS) : at - len(line)]
    if fence:
        return fence.language in _PROGRAMS and _is_within_program(fence.indent, above, line, name)
    last = above.rstrip().rpartition("\n")[2]
    is_inner = line.startswith(("  ", "\t")) and _HEADER.match(last) is not None
    return is_inner or is_shown_value(source, None, at)


def is_shown_value(source: Source, fence: Fence | None, at: int) -> bool:
    """Returns whether a value is indented as code, or in a block behind other text of its line."""
    line = source.before(at, 60)
    start = at - len(line)
    if fence:
        return bool(source.text[max(fence.inside, start) : at].strip())
    is_indented = line.startswith(("    ", "\t")) and is_set_off(source, at, line)
    return is_indented and bool(source.text[max(0, start - _WINDOW_CHARACTERS) : start].strip())


def _is_within_program(indent: int, above: str, line: str, name: str) -> bool:
    if ("def " in above or "import" in above) and re.search(
        rf"\b(?:def|import)\b[^\n(]{{0,200}}\b{re.escape(name)}\b", above
    ):
        return True
    outer = [one for one in above.splitlines() if one[indent : indent + 1].strip()]
    is_indented = not line[indent : indent + 1].strip()
    return bool(is_indented and outer and outer[-1].rstrip().endswith(":"))


def is_answer(source: Source, at: int) -> bool:
    """Returns whether the text before a place, on its line or else above, announces a tool's result."""
    before = source.before(at, 60)
    label = before.rstrip(" \t`[\"'(*") or source.text[max(0, at - 180) : at - len(before)].rstrip().rsplit("\n", 1)[-1]
    return _says_answer(label)


def _says_answer(label: str) -> bool:
    return _ANSWER_LABEL.search(label, max(0, len(label) - 40)) is not None or _TRACED.match(label) is not None


def is_quotation(text: str, start: int, end: int) -> bool:
    """Returns whether a place is quoted or struck out, with words outside the marks."""
    closed = _QUOTED.match(text, end)
    opened = _QUOTATION.search(text[max(0, start - 7) : start]) if closed else None
    if not closed or not opened:
        return False
    return bool(_WORD.search(text, max(0, start - 200), start - 1) or _WORD.search(text, closed.end(), end + 200))


@lru_cache(maxsize=100)
def _code_end(count: int) -> re.Pattern[str]:
    return re.compile(rf"(?<!`)`{{{count}}}(?!`)|\n\s*\n")


def inline_code_end(source: Source, at: int, inside: int) -> tuple[int, bool]:
    """Returns where inline code that is only shown ends, and whether more text may change that.

    It ends at once if the marks are not closed, or if the line has nothing else, as such code may be a call.
    """
    found = source.find(_code_end(inside - at), inside)
    if not found or found.group()[0] != "`":
        return inside, found is None
    if source.is_line_of(_ALONE, at):
        return inside, source.is_last_line()
    return found.end(), False
