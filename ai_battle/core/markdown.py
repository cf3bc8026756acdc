"""Text of models made safe to stand inside a Markdown document that others have written."""

import re

from .texts import printable

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r"^( {0,3})(#{1,6})(?=\s)")
_CODE_SPAN = re.compile(r"(?<![`\\])(`+)(?!`).*?(?<!`)\1(?!`)")
_HARMLESS = r"<?(?:https?://|mailto:|[#/.?]|[\w-]+(?:[./#?>)\s]|$))"
"""How the target of a link begins that runs nothing: an address of the web, or of a file beside this one."""
_RISK = re.compile(rf"<(?=[A-Za-z/!?])|!\[|\](?=\((?!\s*{_HARMLESS}))", re.IGNORECASE)
_DEFINITION = re.compile(rf"^([\s>*+-]*\[[^\]]{{0,999}})\](?=:(?!\s*{_HARMLESS}))", re.IGNORECASE)
_RISK_OR_CODE = re.compile(f"{_CODE_SPAN.pattern}|{_RISK.pattern}")
_INERT = {"<": "&lt;", "![": "!\\[", "]": "\\]"}
LOWERED, DEEPEST = 3, 6
"""By how many levels headings are lowered, and no further than to which."""


def cell(text: str) -> str:
    """One line, also for a table of Markdown: tags are text, and pictures, which a viewer would fetch, are links."""
    line = " ".join(printable(text).split())
    return _inert(line, _RISK).replace("|", "\\|")


def code_block(text: str) -> str:
    """A fence that is longer than any within."""
    longest = max((len(run) for run in re.findall("`{3,}", text)), default=2)
    return f"{'`' * (longest + 1)}\n{printable(text)}\n{'`' * (longest + 1)}"


def contained(text: str, lowered: int = LOWERED) -> str:
    """Markdown that stays in its place: no tags, pictures to fetch or links that run something, lower headings.

    Every code fence is closed.
    """
    reader = _Reader(lowered)
    lines = [reader.take(line) for line in printable(text).strip("\n").split("\n")]
    return "\n".join([*lines, reader.fence] if reader.fence else lines)


class _Reader:
    """Reads lines in order: `fence` is what opened the code block that a line is in.

    After a stray backtick nobody can say where code spans of that paragraph begin, so none of them is trusted.
    """

    def __init__(self, lowered: int) -> None:
        self.fence = ""
        self._lowered = lowered
        self._stray = False

    def take(self, line: str) -> str:
        if self._is_code(line):
            self._stray = False
            return line
        self._stray = self._stray and bool(line.strip())
        line = _DEFINITION.sub(r"\1\\]", line)
        inert = _inert(line, _RISK if self._stray else _RISK_OR_CODE)
        self._stray = self._stray or "`" in _CODE_SPAN.sub("", line)
        return _HEADING.sub(lambda found: found[1] + "#" * min(len(found[2]) + self._lowered, DEEPEST), inert)

    def _is_code(self, line: str) -> bool:
        """Whether the line belongs to a code block, its fences included."""
        if self.fence:
            if _closes(line, self.fence):
                self.fence = ""
            return True
        if opening := _FENCE.match(line):
            self.fence = opening[1]
        return bool(self.fence)


def _inert(line: str, risk: re.Pattern[str]) -> str:
    return risk.sub(lambda found: _INERT.get(found[0], found[0]), line)


def _closes(line: str, fence: str) -> bool:
    stripped = line.strip()
    return len(stripped) >= len(fence) and set(stripped) == {fence[0]}
