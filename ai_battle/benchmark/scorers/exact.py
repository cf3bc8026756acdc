"""`exact`: the final answer equals the reference, but for case, spacing and punctuation; also options and JSON."""

import json
import re
from collections.abc import Iterator
from typing import Any
from unicodedata import normalize

from ...signals.final_answers import final_answer, options, same, stated_answer, words_key
from ..sample import AnswerScore
from ..tasks import Task
from . import ScoredAnswer
from ._wording import denies, without_denied

_SIGNS = re.compile(r"(?<=[\w)\]'\"])(?: *(!=|[<>]=?|==?)(?= *[\w(\['\"])|#(?!\w))")
_FENCED = re.compile(r"(`{3,8}|~{3,8})\w{0,20}\n(.*?)\n?\1", re.DOTALL)
_SENTENCES = re.compile(r"(?<=[^\d\s])[.!?](?=\s|$)|\n")
_SAID_OF = re.compile(r":\s|\b(?:is|are|was|were|ist|sind|war|waren|lautet|est|es|\u00e8)\b", re.IGNORECASE)
_VERDICT = re.compile(
    r"\W{0,4}(yes|no|true|false|ja|nein|wahr|falsch|oui|non|vrai|faux|s[i\u00ed\u00ec]|verdadero|falso|vero|sim|n\u00e3o)\W{0,3}?"
    r"(?:[,;:.!\u2013\u2014]|\s-\s|\s(?:because|since|as|weil|denn|da|car|porque|perch\u00e9)\b)",
    re.IGNORECASE,
)
EMPTY = AnswerScore(None, "the answer is empty")


class Exact:
    def lacks(self, task: Task) -> str:
        if not task.reference.strip():
            return "a reference"
        # An index, as in MMLU, would make every answer unreadable.
        is_option = not options(task.prompt) or final_answer(task.reference, task.prompt, "option")
        return "" if is_option else f"the letter or text of an option as its reference, which is {task.reference!r}"

    async def score(self, task: Task, answer: ScoredAnswer) -> AnswerScore:
        if not answer.text.strip():
            return EMPTY
        return _option_of(task, answer) if options(task.prompt) else _answer_in(task, answer)


def _option_of(task: Task, answer: ScoredAnswer) -> AnswerScore:
    right = final_answer(task.reference, task.prompt, "option")
    found = final_answer(answer.text, task.prompt, "option")
    # A question for what is wrong is answered with denials.
    asserted = answer.text if denies(task.prompt) else without_denied(answer.text)
    if found is None or not _names(asserted, found.key, options(task.prompt).get(found.key)):
        found = final_answer(asserted, task.prompt, "option")
    if found is None or right is None:
        return AnswerScore(None, "the answer picks no option")
    return AnswerScore(float(same(found, right)), f"picks {found.key}, right is {right.key}")


def _names(text: str, letter: str, option: str | None) -> bool:
    """Checks whether a text still has an option, by its letter or in words."""
    is_lettered = re.search(rf"(?<!\w)(?:{letter}|{letter.lower()}(?=\W*$))(?!\w)", text) is not None
    return is_lettered or (bool(option) and str(option).casefold() in text.casefold())


def _answer_in(task: Task, answer: ScoredAnswer) -> AnswerScore:
    text, reference = (normalize("NFC", each) for each in (_in_fence(answer.text), task.reference))
    stated = stated_answer(text)
    said = [*_statements(text)] if stated is None else [text, stated]
    if verdict := _VERDICT.match(stated or text):  # reasons follow it: "No, because it is forbidden"
        said.append(verdict[1])
    is_right = _key(reference) in map(_key, said) or _is_same_data(reference, answer.text)
    return AnswerScore(float(is_right), "" if is_right else f"says {(stated or text).strip()[:80]!r}")


def _key(text: str) -> tuple[str, list[str]]:
    """Returns the words and the signs that are not punctuation: "a > 1" differs from "a >= 1", and "C#" from "C"."""
    return words_key(text) or " ".join(text.casefold().split()).strip("'\"`"), _SIGNS.findall(text)


def _statements(text: str) -> Iterator[str]:
    """Yields what may be the answer: all, or the first or last sentence, of which the end: "The mood is good"."""
    yield text
    sentences = [each for each in _SENTENCES.split(text) if each.strip(" *_")]
    for sentence in sentences[:1] + sentences[-1:]:
        yield sentence
        yield _SAID_OF.split(sentence)[-1]


def _is_same_data(reference: str, text: str) -> bool:
    """Checks whether an answer has the JSON object or list of the reference, in any order of its keys."""
    wanted = _data(reference)
    if not wanted:
        return False
    opening, closing = "{}" if isinstance(wanted, dict) else "[]"
    blocks = [found[2] for found in _FENCED.finditer(text)] or [text]
    found = [_data(each[each.find(opening) : each.rfind(closing) + 1]) for each in blocks]
    return bool(wanted == next(filter(None, reversed(found)), None))


def _data(text: str) -> Any:
    """Returns a JSON object or list with its texts normalised, or None."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return _normal_form(value) if isinstance(value, dict | list) else None


def _normal_form(value: Any) -> Any:
    match value:
        case dict():
            return {key: _normal_form(child) for key, child in value.items()}
        case list():
            return [_normal_form(child) for child in value]
        case str():
            return " ".join(value.casefold().split())
        case bool():
            return str(value), "boolean"  # True is no 1
    return value


def _in_fence(text: str) -> str:
    """Returns the code of an answer that is one fenced block and nothing else, or the answer."""
    fenced = _FENCED.fullmatch(text.strip())
    return fenced[2] if fenced else text


def create() -> Exact:
    return Exact()
