"""What the reader found in a text: calls, where they stand, and what could not be used."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ...core.messages import ToolCall
from ...core.tooling import ProposalKind

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
