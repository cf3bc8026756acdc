"""Whether a model that works with tools is getting anywhere: its calls, what they returned, and how alike they are."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations
from math import log1p

NEWEST = 20
LONGEST = 8_000
_WORD = re.compile(r"\w+")
_VARIES = re.compile(r"\"[^\"\n]{0,200}\"|'[^'\n]{0,200}'|`[^`\n]{0,200}`|\b0x[0-9a-f]+\b|\d+")
_FAILED = re.compile(
    r"\s*(?:\{\s*[\"']?error[\"']?\s*:|(?:\w*error|exception|traceback|fatal|failed|failure)\b)", re.IGNORECASE
)
LONGEST_MESSAGE = 400
"""Characters of a result that may be a message; words of failure in a longer one, as of a file, mean nothing."""
# Not what is said to be nought: "0 failed", "no errors", "failures: 0".
FAILURE = re.compile(
    r"(?<!\b0 )(?<!\bno )\b(?:\w{0,40}errors?|fail\w*|fatal|invalid|denied|refused|forbidden|unable|can(?:'|no)t|cannot"
    r"|missing|unknown|timed? ?out|not found|no such|traceback|abort\w*|reject\w*|expired|exceed\w*|unavailable"
    r"|unsupported|not (?:allowed|permitted)|fehl\w*|ung\u00fcltig\w*|verweigert|abgelehnt|erreur|\u00e9chec)\b"
    r"(?!\W{0,3}0\b)",
    re.IGNORECASE,
)
_FAILURE_CODE = re.compile(
    r"\b(?:exit_?code|return_?code)\W{1,4}-?[1-9]|\bstatus\W{1,4}[45]\d\d\b|\b(?:ok|success)\W{1,4}false\b",
    re.IGNORECASE,
)
_TROUBLES = ("a call was repeated", "two calls in a row failed", "the same error came twice")
_FRAME = " \t\r\n[]{}()\"',."
# A result in the one field of an object is what stands there.
_FIELD = re.compile(r"\s*\{\s*\"\w{1,30}\"\s*:\s*(?=[^{]{0,60}\}\s*\Z)")
_NOTHING = frozenset(
    (
        "",
        "null",
        "none",
        "nil",
        "no result",
        "no results",
        "no results found",
        "not found",
        "empty",
        "0 rows",
        "no rows",
    )
).union(("no matches", "no match", "nothing found", "0 results", "keine", "keine treffer", "aucun r\u00e9sultat"))


@dataclass(frozen=True, slots=True)
class ToolStep:
    """One call as text, and what came back."""

    call: str
    result: str
    is_error: bool = False

    @property
    def is_failure(self) -> bool:
        return self.is_error or bool(_FAILED.match(self.result))

    @property
    def brought_something(self) -> bool:
        field = _FIELD.match(self.result) if len(self.result) < LONGEST_MESSAGE else None
        said = self.result[field.end() if field else 0 : LONGEST]
        return not self.is_failure and said.strip(_FRAME).casefold() not in _NOTHING


def in_trouble(steps: Sequence[ToolStep]) -> str:
    """Says why help is due: a call repeated, two errors in a row, or the same error twice; empty where all is well."""
    known = KnownSteps()
    found = {known.trouble_of(step) for step in steps[-NEWEST:]}
    return next((trouble for trouble in _TROUBLES if trouble in found), "")


@dataclass(slots=True)
class KnownSteps:
    """Steps as they come, of which each is looked at beside those before it."""

    calls: set[tuple[str, ...]] = field(default_factory=set)
    errors: set[str] = field(default_factory=set)
    has_failed: bool = False

    def trouble_of(self, step: ToolStep, result: str = "") -> str:
        """Returns what is wrong with the next step; a call is another one where another `result` is told of it."""
        call, error = (*words(step.call), result), _kind_of_error(step) if step.is_failure else ""
        checks = (call in self.calls, bool(error) and self.has_failed, error in self.errors)
        self.calls.add(call)
        self.errors.update(filter(None, (error,)))
        self.has_failed = bool(error)
        return next((trouble for trouble, is_so in zip(_TROUBLES, checks, strict=True) if is_so), "")


def tells_failure(step: ToolStep) -> bool:
    """Says whether a step brought nothing, or something that says in words that it failed."""
    ends = f"{step.result[:LONGEST_MESSAGE]}\n{step.result[-LONGEST_MESSAGE:]}"
    is_message = len(step.result) <= LONGEST_MESSAGE
    return not step.brought_something or bool(
        _FAILURE_CODE.search(ends) or (is_message and FAILURE.search(step.result))
    )


def troubles(steps: Sequence[ToolStep], prompt: str = "") -> dict[str, float]:
    """Measures of the newest steps, each larger or smaller by how stuck it is; empty without any step.

    `alike` is how much a call has in common with an earlier one, `ungrounded` the share of the last call's words that
    neither the prompt nor any result has shown, `length` the mean logarithm of the calls' lengths, `asked` the
    logarithm of how many different words the prompt has.
    """
    if not steps:
        return {}
    steps = steps[-NEWEST:]
    last = steps[-1]
    return {
        "turns": float(len(steps)),
        "nothing_yet": float(not any(step.brought_something for step in steps)),
        "nothing_now": float(not last.brought_something),
        "two_errors": float(last.is_failure and len(steps) > 1 and steps[-2].is_failure),
        "same_error": float(same_errors(steps)),
        "repeated": float(len({words(step.call) for step in steps}) < len(steps)),
        "alike": max(_likenesses(steps), default=0.0),
        "ungrounded": _ungrounded_share(steps, prompt),
        "asked": log1p(len(set(words(prompt)))),
        "length": sum(log1p(len(step.call)) for step in steps) / len(steps),
    }


def same_errors(steps: Sequence[ToolStep]) -> int:
    """Returns how many errors were there before, whatever numbers and names stand in them."""
    errors = [_kind_of_error(step) for step in steps if step.is_failure]
    return len(errors) - len(set(errors))


def _kind_of_error(step: ToolStep) -> str:
    return f"#{_VARIES.sub('#', step.result[:LONGEST].casefold()).strip()}"


@lru_cache(maxsize=128)  # as many as the newest steps have, which come again with each one
def words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(text[:LONGEST].casefold()))


def _likenesses(steps: Sequence[ToolStep]) -> Iterator[float]:
    """Yields, for each two calls, the share of their words that both have."""
    for one, other in combinations([frozenset(words(step.call)) for step in steps], 2):
        yield len(one & other) / max(1, len(one | other))


def _ungrounded_share(steps: Sequence[ToolStep], prompt: str) -> float:
    shown = set(words(prompt))
    for step in steps[:-1]:
        if not step.is_failure:
            shown.update(words(step.result))
    said = set(words(steps[-1].call))
    return len(said - shown) / max(1, len(said))
