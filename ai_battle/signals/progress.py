"""Whether work with tools gets on: which of its steps brought something new, and when too many in a row have not."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

PATIENCE = 3
"""Steps in a row that bring nothing, and times that a check fails alike, before the work stalls."""
WAITS = 10
"""Times that the same call may say that something is not ready yet."""
SHORT, FEW, MOST_WORDS = 80, 8, 600
"""Characters of a result that may be a yes, a count, or word that something is done, which other calls may rightly have
too; the words of one that may say how far something is; and those of a long one that are looked at.
"""
LEAST_NEW = 0.1
"""The share of a longer result's neighbouring words that have to be new neighbours."""
NEWEST = 20
"""Steps in which trouble is looked for, where nothing else is known of it."""
LONGEST = 8_000
LONGEST_MESSAGE, MOST_LINES = 400, 4
"""Characters and lines of a result that may be a message; words of failure in a longer one, as of a file, mean nothing.
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
_VARIES = re.compile(r"\"[^\"\n]{0,200}\"|'[^'\n]{0,200}'|`[^`\n]{0,200}`|\b0x[0-9a-f]+\b|\d+")
_ERROR = re.compile(
    r"\s*(?:\{\s*[\"']?error[\"']?\s*:|(?:\w*error|exception|traceback|fatal|failed|failure)\b)", re.IGNORECASE
)
# Not what is said to be nought: "0 failed", "no errors", "failures: 0".
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
)  # a page may have no text but for a browser
_FRAME = " \t\r\n[]{}()\"',."
# That there is no error is something.
_NOTHING = re.compile(
    r"(?:null|none|nil|empty(?: set)?|not found|nothing(?: \w+){0,6}|nichts(?: \w+){0,3}|keine|rien"
    r"|(?:no|0|zero|keine?|aucune?)(?! (?:\w*error|fail|fault|problem|conflict|warning|issue|diff|change|erreur))"
    r"(?: \w+){1,5})?(?: \(\d[^)]{0,12}\)?)?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ToolStep:
    """One call as text, and what came back."""

    call: str
    result: str
    is_error: bool = False

    @property
    def is_failure(self) -> bool:
        return self.is_error or bool(_ERROR.match(self.result))

    @property
    def brought_something(self) -> bool:
        return not self.is_failure and not (len(self.result) <= LONGEST_MESSAGE and _says_nothing(self.result))


def _says_nothing(result: str) -> bool:
    """Says whether a result is empty, or says in a few words that there is nothing, in whole or in each field."""
    text = _MARKUP.sub("", result) if result.lstrip().startswith("<") else result
    return _is_nothing(text) or (result.lstrip()[:1] in ("{", "[") and _has_empty_fields(result))


def _has_empty_fields(result: str) -> bool:
    try:
        fields = [*_fields(json.loads(result))]
    except ValueError:
        return False
    is_number = [isinstance(each, int | float) and not isinstance(each, bool) for each in fields]
    return not all(is_number) and all(map(_is_nothing, fields))  # a number alone is what was asked for, also 0


def _fields(value: object) -> Iterator[object]:
    """Yields what stands in a JSON value; None for each empty list or object in it."""
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
    return not words_said or (isinstance(words_said, str) and bool(_NOTHING.fullmatch(words_said)))


def _result_words(step: ToolStep) -> frozenset[str]:
    """Returns the words of a result; none where it brought nothing, in whatever words it says so."""
    if not step.is_failure and not step.brought_something:
        return frozenset()
    return frozenset(words(_CLOCK.sub("#", step.result)))


@dataclass(slots=True)
class WorkRecord:
    """Steps as they come. Of the newest one `lack` says why it brought nothing, `trouble` why advice is due.

    `stalled` says why the work does not get on. Each is empty where all is well.
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
        is_waiting = times < WAITS and len(result) <= FEW and _WAITING.search(step.result)
        is_again = times > 0 and not is_waiting
        if fails:
            self.lack = self._lack_of_failure(step, call, times)
        else:
            self.lack = _AGAIN if is_again else self._lack_of_news(step)
        self.trouble = self._trouble(step, is_again=is_again, fails=fails)
        results[result] += 1
        self._seen |= _pairs(step.result)
        self._has_failed = fails
        if step.result.strip() or step.is_error:  # silence may be success, as of most commands: it tells nothing
            self._lacking = [*self._lacking, self.lack] if self.lack else []
        self.stalled = self._reason(times + 1)

    def _lack_of_failure(self, step: ToolStep, call: tuple[str, ...], times: int) -> str:
        if call in self._failing and not times:
            return ""  # the same call fails in another way: something has changed
        self._failing.add(call)
        return _FAILED if step.is_failure or step.brought_something else _EMPTY

    def _lack_of_news(self, step: ToolStep) -> str:
        pairs = _pairs(step.result)
        is_known = len(step.result) > SHORT and len(pairs - self._seen) < LEAST_NEW * len(pairs)
        return _KNOWN if is_known else ""

    def _trouble(self, step: ToolStep, *, is_again: bool, fails: bool) -> str:
        if is_again:
            return "a call was repeated"
        if not fails:
            return ""
        kind = kind_of_error(step)
        is_known = kind in self._errors
        self._errors.add(kind)
        return "two calls in a row failed" if self._has_failed else "the same error came twice" if is_known else ""

    def _reason(self, times: int) -> str:
        if len(self._lacking) >= PATIENCE:
            return f"the last {len(self._lacking)} calls brought nothing new: {', '.join(dict.fromkeys(self._lacking))}"
        is_in_vain = self.lack == _FAILED and times >= PATIENCE
        return f"the same call has failed in the same way {times} times" if is_in_vain else ""


def why_no_progress(steps: Iterable[ToolStep]) -> str:
    """Says why the work stalls with its newest step; empty where it gets on."""
    record = WorkRecord()
    for step in steps:
        record.add(step)
    return record.stalled


@lru_cache(maxsize=128)
def tells_failure(step: ToolStep) -> bool:
    """Says whether a step brought nothing, or something that says in words that it failed."""
    ends = f"{step.result[:LONGEST_MESSAGE]}\n{step.result[-LONGEST_MESSAGE:]}"
    is_message = len(step.result) <= LONGEST_MESSAGE and step.result.count("\n") < MOST_LINES
    return not step.brought_something or bool(
        _FAILURE_CODE.search(ends) or (is_message and FAILURE.search(step.result))
    )


def kind_of_error(step: ToolStep) -> str:
    """Returns the result without numbers and names, in which the same error differs from time to time."""
    return f"#{_VARIES.sub('#', step.result[:LONGEST].casefold()).strip()}"


@lru_cache(maxsize=128)  # as many as the newest steps have, which come again with each one
def words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(text[:LONGEST].casefold()))


@lru_cache(maxsize=128)
def _pairs(text: str) -> frozenset[tuple[str, str]]:
    return frozenset(pairwise(words(text)[:MOST_WORDS]))
