"""Checks whether work with tools makes progress: which steps brought something new, and when the work stalls."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

FRUITLESS_STEPS = 3
"""Fruitless steps in a row, or identical failures of a call, after which the work stalls."""
MAX_WAITS = 10
"""How often the same call may report that something is not ready yet."""
SHORT, FEW, MOST_WORDS = 80, 8, 600
"""Limits of a result: characters of one that different calls may rightly share ("ok", a count), words of one that may
report progress, and words of a long one that are compared."""
LEAST_NEW = 0.1
"""The least share of new word pairs in a longer result that brings something new."""
NEWEST_STEPS = 20
"""Steps that are searched for trouble if nothing else is known."""
RESULT_CHARACTERS = 8_000
LONGEST_MESSAGE, MOST_LINES = 400, 4
"""The most characters and lines of a result that may be a message.

In longer ones, such as a file, words of failure mean nothing.
"""
_WAITING = re.compile(
    r"\b(?:pending|queued|running|waiting|scheduled|processing|starting|building|loading|in[ _]?progress"
    r"|not (?:yet )?(?:ready|done|finished|complete)|\d+ of \d+|\d+ ?%)",
    re.IGNORECASE,
)
_CLOCK = re.compile(r"\d+[.:]\d[\d.:]*|\b0x[0-9a-f]+\b")
_FAILED, _EMPTY = "a call failed", "nothing was found"
_AGAIN, _KNOWN = "a call came again, with the same result", "a result held nothing new"
_WORD = re.compile(r"\w+")
_VARYING_PART = re.compile(r"\"[^\"\n]{0,200}\"|'[^'\n]{0,200}'|`[^`\n]{0,200}`|\b0x[0-9a-f]+\b|\d+")
_ERROR = re.compile(
    r"\s*(?:\{\s*[\"']?error[\"']?\s*:|(?:\w*error|exception|traceback|fatal|failed|failure)\b)", re.IGNORECASE
)
# Excludes counts of zero: "0 failed", "no errors", "failures: 0".
FAILURE = re.compile(
    r"(?<!\b0 )(?<!\bno )\b(?:\w{0,40}errors?|fail\w*|fatal|invalide?|denied|refused|forbidden|unable"
    r"|can(?:'|no)t|cannot|missing|unknown|timed? ?out|not found|no such|traceback|abort\w*|reject\w*|expired|exceed\w*"
    r"|unavailable|unsupported|ambiguous|broken|conflicts?|locked|unreachable|unauthori[sz]ed|revoked|corrupt\w*"
    r"|illegal|insufficient|deadlock|mismatch\w*|too (?:many|long|large)|out of (?:range|domain|memory|space)"
    r"|not (?:allowed|permitted|reachable|accessible|acceptable|supported|implemented|connected|possible|installed"
    r"|a directory)|is (?:a directory|down)|(?:file|already) exists|does(?:n't| not) (?:exist|match)|already in use"
    r"|read-only|reset by|(?:resource|file) busy|bad (?:request|gateway|address|message|file)"
    r"|fehl\w*|ung\u00fcltig\w*|verweigert|abgelehnt|nicht gefunden|erreur|introuvable|\u00e9chec)\b"
    r"(?!\W{0,3}0\b)",
    re.IGNORECASE,
)
_FAILURE_CODE = re.compile(
    r"\b(?:exit_?code|return_?code)\W{1,4}-?[1-9]|\bstatus\W{1,4}[45]\d\d\b"
    r"|^\W{0,3}(?:HTTP(?:/[\d.]{1,3})? )?[45]\d\d(?::| (?-i:[A-Z]))|\b(?:ok|success|valid|passed)\W{1,4}false\b"
    r"|#(?:DIV/0|REF|N/A|NAME|VALUE|NUM|NULL)[!?]?(?!\w)",
    re.IGNORECASE,
)
_MARKUP = re.compile(
    r"<(script|style)\b[^>]*>[^<]*</\1>|<[^>]*>", re.IGNORECASE
)  # a page without text for a reader counts as empty
_FRAME = " \t\r\n[]{}()\"',."
# "No errors" or "no changes" is news, so these are excluded.
_EMPTY_RESULT = re.compile(
    r"(?:null|none|nil|empty(?: set)?|not found|nothing(?: \w+){0,6}|nichts(?: \w+){0,3}|keine|rien"
    r"|(?:no|0|zero|keine?|aucune?)(?! (?:\w*error|fail|fault|problem|conflict|warning|issue|diff|change|erreur))"
    r"(?: \w+){1,5})?(?: \(\d[^)]{0,12}\)?)?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ToolStep:
    """A tool call as text, and its result."""

    call: str
    result: str
    is_error: bool = False

    @property
    def is_failure(self) -> bool:
        return self.is_error or bool(_ERROR.match(self.result))

    @property
    def has_news(self) -> bool:
        return not self.is_failure and not (len(self.result) <= LONGEST_MESSAGE and _says_nothing(self.result))


def _says_nothing(result: str) -> bool:
    """Checks whether a result is empty, or says in a few words, in whole or in each field, that there is nothing."""
    text = _MARKUP.sub("", result) if result.lstrip().startswith("<") else result
    return _is_nothing(text) or (result.lstrip()[:1] in ("{", "[") and _has_empty_fields(result))


def _has_empty_fields(result: str) -> bool:
    try:
        fields = [*_fields(json.loads(result))]
    except ValueError:
        return False
    is_number = [isinstance(each, int | float) and not isinstance(each, bool) for each in fields]
    return not all(is_number) and all(map(_is_nothing, fields))  # a lone number, even 0, is the answer to a count


def _fields(value: object) -> Iterator[object]:
    """Yields the scalar values in a JSON value, and None for each empty list or object."""
    inside = [*value.values()] if isinstance(value, dict) else value
    if not isinstance(inside, list):
        yield inside
    elif inside:
        for each in inside:
            yield from _fields(each)
    else:
        yield None


def _is_nothing(value: object) -> bool:
    words_said = value.strip(_FRAME) if isinstance(value, str) else value
    return not words_said or (isinstance(words_said, str) and bool(_EMPTY_RESULT.fullmatch(words_said)))


def _result_words(step: ToolStep) -> frozenset[str]:
    """Returns the words of a result without times. Fruitless results share the empty set, however they are worded."""
    if not step.is_failure and not step.has_news:
        return frozenset()
    return frozenset(words(_CLOCK.sub("#", step.result)))


@dataclass(slots=True)
class WorkRecord:
    """Keeps the steps of a task. `lack` says why the newest one was fruitless, `trouble` why advice is due.

    `stalled` says why the work makes no progress. Each is empty if all is well.
    """

    lack: str = ""
    trouble: str = ""
    stalled: str = ""
    _results: dict[tuple[str, ...], Counter[frozenset[str]]] = field(default_factory=dict)
    _failing: set[tuple[str, ...]] = field(default_factory=set)
    _errors: set[str] = field(default_factory=set)
    _seen: set[tuple[str, str]] = field(default_factory=set)
    _lacking: list[str] = field(default_factory=list)
    _has_failed: bool = False

    def add(self, step: ToolStep) -> None:
        call, result = words(step.call), _result_words(step)
        results, fails = self._results.setdefault(call, Counter()), tells_failure(step)
        times = results[result]
        is_waiting = times < MAX_WAITS and len(result) <= FEW and _WAITING.search(step.result)
        is_again = times > 0 and not is_waiting
        if fails:
            self.lack = self._lack_of_failure(step, call, times)
        else:
            self.lack = _AGAIN if is_again else self._lack_of_news(step)
        self.trouble = self._trouble_at(step, is_again=is_again, fails=fails)
        results[result] += 1
        self._seen |= _pairs(step.result)
        self._has_failed = fails
        # Most commands are silent on success, so silence is neither progress nor a lack of it.
        if step.result.strip() or step.is_error:
            self._lacking = [*self._lacking, self.lack] if self.lack else []
        self.stalled = self._reason(times + 1)

    def _lack_of_failure(self, step: ToolStep, call: tuple[str, ...], times: int) -> str:
        if call in self._failing and not times:
            return ""  # the same call fails in another way: something has changed
        self._failing.add(call)
        return _FAILED if step.is_failure or step.has_news else _EMPTY

    def _lack_of_news(self, step: ToolStep) -> str:
        pairs = _pairs(step.result)
        is_known = len(step.result) > SHORT and len(pairs - self._seen) < LEAST_NEW * len(pairs)
        return _KNOWN if is_known else ""

    def _trouble_at(self, step: ToolStep, *, is_again: bool, fails: bool) -> str:
        if is_again:
            return "a call was repeated"
        if not fails:
            return ""
        kind = kind_of_error(step)
        is_known = kind in self._errors
        self._errors.add(kind)
        return "two calls in a row failed" if self._has_failed else "the same error came twice" if is_known else ""

    def _reason(self, times: int) -> str:
        if len(self._lacking) >= FRUITLESS_STEPS:
            return f"the last {len(self._lacking)} calls brought nothing new: {', '.join(dict.fromkeys(self._lacking))}"
        is_in_vain = self.lack == _FAILED and times >= FRUITLESS_STEPS
        return f"the same call has failed in the same way {times} times" if is_in_vain else ""


def why_no_progress(steps: Iterable[ToolStep]) -> str:
    """Returns why the work has stalled with its newest step, or "" if it makes progress."""
    record = WorkRecord()
    for step in steps:
        record.add(step)
    return record.stalled


@lru_cache(maxsize=128)
def tells_failure(step: ToolStep) -> bool:
    """Checks whether a step brought nothing, or a message that says that it failed."""
    ends = f"{step.result[:LONGEST_MESSAGE]}\n{step.result[-LONGEST_MESSAGE:]}"
    is_message = len(step.result) <= LONGEST_MESSAGE and step.result.count("\n") < MOST_LINES
    return not step.has_news or bool(_FAILURE_CODE.search(ends) or (is_message and FAILURE.search(step.result)))


def kind_of_error(step: ToolStep) -> str:
    """Returns the result without numbers and names, so that equal errors compare equal."""
    return f"#{_VARYING_PART.sub('#', step.result[:RESULT_CHARACTERS].casefold()).strip()}"


@lru_cache(maxsize=128)  # the newest steps are compared again at each new one
def words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(text[:RESULT_CHARACTERS].casefold()))


@lru_cache(maxsize=128)
def _pairs(text: str) -> frozenset[tuple[str, str]]:
    return frozenset(pairwise(words(text)[:MOST_WORDS]))
