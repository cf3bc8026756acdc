"""`regex`: a pattern finds the answer. If it has a group, the group is compared with the reference."""

import re
from collections import deque
from collections.abc import Iterable, Sequence

from ...core.errors import ConfigError
from ..sample import AnswerScore
from ..tasks import Task
from . import ScoredAnswer
from .exact import EMPTY

MAX_CHARACTERS = 20_000
PATTERN, FORBIDDEN = "pattern", "forbidden"


class Regex:
    """Matches a `pattern`. Without one, tasks have their own in `pattern` and `forbidden`, each a text or a list.

    All patterns have to match, and none of the forbidden ones.
    """

    def __init__(self, pattern: str = "") -> None:
        self._pattern = _compile(pattern, "pattern") if pattern else None

    def lacks(self, task: Task) -> str:
        if self._pattern:
            return "a reference" if self._pattern.groups and not task.reference else ""
        wanted = [(key, text) for key in (PATTERN, FORBIDDEN) for text in _texts(task, key)]
        return _pattern_problem(wanted) if wanted else f"a field {PATTERN!r}, and the scorer has no pattern of its own"

    async def score(self, task: Task, answer: ScoredAnswer) -> AnswerScore:
        text = answer.text[-MAX_CHARACTERS:]
        if not text.strip():
            return EMPTY
        return _score_of_match(self._pattern, text, task) if self._pattern else _score_of_patterns(text, task)


def _pattern_problem(wanted: Iterable[tuple[str, str]]) -> str:
    try:
        for key, text in wanted:
            _compile(text, key)
    except ConfigError as error:
        return f"a readable one: {error}"
    return ""


def _score_of_match(pattern: re.Pattern[str], text: str, task: Task) -> AnswerScore:
    """Scores the last match, as answers come at the end."""
    found = next(iter(deque(pattern.finditer(text), maxlen=1)), None)
    if not pattern.groups:
        return AnswerScore(float(found is not None))
    match = next((group for group in found.groups() if group is not None), None) if found else None
    if match is None:
        return AnswerScore(None, "the pattern finds nothing")
    is_right = match.strip().casefold() in (each.strip().casefold() for each in task.right_answers)
    return AnswerScore(float(is_right), f"finds {match.strip()[:80]!r}")


def _score_of_patterns(text: str, task: Task) -> AnswerScore:
    text = text.strip()
    for wanted in _texts(task, PATTERN):
        if not re.search(wanted, text):
            return AnswerScore(0.0, f"/{wanted}/ is not found")
    for forbidden in _texts(task, FORBIDDEN):
        if re.search(forbidden, text):
            return AnswerScore(0.0, f"/{forbidden}/ is found")
    return AnswerScore(1.0)


def _texts(task: Task, key: str) -> Sequence[str]:
    value = task.extra.get(key) or ()
    return [value] if isinstance(value, str) else list(map(str, value))


def _compile(pattern: str, what: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise ConfigError(f"regex: {what} {pattern!r} is not a regular expression: {error}") from error


create = Regex
