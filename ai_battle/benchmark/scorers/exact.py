"""`exact`: the final answer equals the reference, but for case, spacing and punctuation; also options and JSON."""

import json
import re
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from unicodedata import normalize

from ...core.texts import one_of
from ...signals.final_answers import FinalAnswer, final_answer, options, stated_answer, words_key
from ...signals.languages import words, words_everywhere
from ...wire.dialects.schemas import canonical
from ..sample import AnswerScore
from ..tasks import Task
from . import ScoredAnswer

_SIGNS = re.compile(r"(?<=[\w)\]'\"])(?: *(!=|[<>]=?|==?)(?= *[\w(\['\"])|#(?!\w))")
_FENCED = re.compile(r"(`{3,8}|~{3,8})\w{0,20}\n(.*?)\n?\1", re.DOTALL)
_SENTENCES = re.compile(r"(?<=[^\d\s])[.!?;](?=\s|$)|\n|\u3002")
_SAID_OF = re.compile(
    r"(?::\s|\uff1a|\b(?:is|are|was|were|be|as|ist|sind|war|waren|lautet|est|es|\u00e8|\u00e9)\b"
    r"|\bi(?:['\u2019](?:d|m|ll)| would| will| am)? (?:say|think|guess|believe|argue|choose|pick|go(?:ing)? with"
    r"|(?:call|label|rate) (?:it|this|that))\b,?|\bich (?:w\u00fcrde )?(?:sagen?|denke|glaube|meine|tippe auf)\b,?"
    r"|\b(?:it|that|this|he|she)['\u2019]s\b)\s*",
    re.IGNORECASE,
)
_LEADING_WORDS = re.compile(
    r"\A[*_\"'\s]{0,4}(?:(?:definitely|certainly|absolutely|surely|clearly|obviously|of course|probably"
    r"|(?:most )?likely|perhaps|maybe|sicher|bestimmt|definitiv|nat\u00fcrlich|wahrscheinlich|vermutlich)\s+(?=\S))?"
    r"(?:(?:an?|the|ein|eine[mnrs]?|der|die|das|une?|l[ae]|una|el|il|een)\s+(?=\S))?",
    re.IGNORECASE,
)
_REASON = re.compile(  # but not in "Monday - Friday", "red as well as blue" or "a police car"
    r"(?:\s\(|,?\s(?:because|since|weil|denn|puisque|porque|pois|perch\u00e9)\s"
    r"|(?:(?<=[^\s\d])(?:\s[-\u2013]\s|\s?\u2014\s?)|,?\s(?:as(?! well)|da|car)\s)(?=[^\W\d]\S*\s+\S)).*"
    r"|,\s(?:of course|nat\u00fcrlich|i (?:think|guess|believe|suppose)|i'd say)(?=\W*\Z)",
    re.IGNORECASE | re.DOTALL,
)
_VERDICTS = words_everywhere("yes") | words_everywhere("no")
_YES_OR_NO = one_of(_VERDICTS)
_VERDICT = re.compile(
    rf"\W{{0,4}}(?:({_YES_OR_NO})\u7684?\W{{0,3}}?(?:[,;:!\u2014\uff0c\u3001\uff1a\uff01\u060c]|\Z)|(not|nicht)[,;!])"
    rf"|.*\b(?:so|therefore|thus|hence|also|somit|donc|quindi|entonces)\b,? ({_YES_OR_NO})\W*\Z",
    re.IGNORECASE,
)
_IN_FULL = ((r"\bcan(?:no|')t\b", "can not"), (r"\bwon't\b", "will not"), (r"n't\b", " not"))
_PRONOUN_IS = re.compile(r"\b(it|that|this|there|he|she)'s\b", re.IGNORECASE)
_AUXILIARIES = frozenset(
    words(
        "it they he she this that there we you is are was were do does did will would can could should may might must"
        " has have had"
    )
)
_CLAUSES = re.compile(
    r"([.!?;](?=\s|$)|(?<![A-P]):\s|[,\n]|\s[-\u2013\u2014]\s"
    r"|\b(?:but|because|since|while|whereas|so|aber|sondern|weil|denn|w\u00e4hrend|mais|car|sino|porque|ma|perch\u00e9)\b)"
)
_DENIES = re.compile(
    r"n['\u2019]t\b|\b(?:not|never|cannot|neither|nor|wrong|incorrect|false|except|unlike|rul(?:e|es|ed|ing) out"
    r"|nicht|nie|kein\w{0,4}|falsch|au\u00dfer|scheide\w{0,3} aus|ausgeschlossen"
    r"|pas|jamais|faux|falso|sbagliat[oa]|non)\b",
    re.IGNORECASE,
)
_NEGATION = re.compile(r"\b(?:no|n\u00e3o|nothing|nichts|rien|nada|niente)\W*\Z", re.IGNORECASE)
_TYPED = str.maketrans(
    dict.fromkeys("\u2010\u2011\u2012\u2013\u2212", "-")
    | dict.fromkeys("\u2018\u2019\u02bc", "'")
    | dict.fromkeys("\u201c\u201d\u201e", '"')
)
_BOOLEANS = ("true", "false")
_PHRASES = {
    "yes": ("yep", "yeah", "absolutely", "certainly", "definitely", "of course", "i think so", "nat\u00fcrlich"),
    "no": ("nope", "not", "nicht", "i don't think so", "auf keinen fall"),
}
"""What says yes or no to a question that denies nothing: "Certainly not" is read as "not"."""
EMPTY = AnswerScore(None, "the answer is empty")


def normal_form(text: str) -> str:
    """Returns the text with composed letters, and with the hyphens and quotation marks of a keyboard."""
    return normalize("NFC", text).translate(_TYPED)


def denies(text: str) -> bool:
    return _DENIES.search(text) is not None


def negates_what_follows(text: str) -> bool:
    return denies(_CLAUSES.split(text)[-1]) or _NEGATION.search(text) is not None


def without_denied(text: str) -> str:
    """Returns the text without its clauses that deny something: "Not A, but B" asserts B, and "It isn't B" nothing."""
    clauses = _CLAUSES.split(text)
    return "".join("" if place % 2 == 0 and denies(clause) else clause for place, clause in enumerate(clauses))


class Exact:
    def lacks(self, task: Task) -> str:
        if not task.reference.strip():
            return "a reference"
        # An index, as in MMLU, would make every answer unreadable.
        is_option = not options(task.prompt) or all(_right_options(task))
        return "" if is_option else f"the letter or text of an option as its reference, which is {task.reference!r}"

    async def score(self, task: Task, answer: ScoredAnswer) -> AnswerScore:
        if not answer.text.strip():
            return EMPTY
        return _option_of(task, answer) if options(task.prompt) else _answer_in(task, answer)


def _option_of(task: Task, answer: ScoredAnswer) -> AnswerScore:
    right = _right_options(task)
    found = final_answer(answer.text, task.prompt, "option")
    # A question for what is wrong is answered with denials.
    asserted = answer.text if denies(task.prompt) else without_denied(answer.text)
    if found is None or not _names(asserted, found.key, options(task.prompt).get(found.key)):
        found = final_answer(asserted, task.prompt, "option")
    if found is None:
        return AnswerScore(None, "the answer picks no option")
    keys = [each.key for each in right if each]
    return AnswerScore(float(found.key in keys), f"picks {found.key}, right is {' or '.join(keys)}")


def _right_options(task: Task) -> list[FinalAnswer | None]:
    return [final_answer(each, task.prompt, "option") for each in task.right_answers]


def _names(text: str, letter: str, option: str | None) -> bool:
    """Checks whether a text still has an option, by its letter or in words."""
    is_lettered = re.search(rf"(?<!\w)(?:{letter}|{letter.lower()}(?=\W*$))(?!\w)", text) is not None
    return is_lettered or (bool(option) and str(option).casefold() in text.casefold())


def _answer_in(task: Task, answer: ScoredAnswer) -> AnswerScore:
    text = normal_form(_in_fence(answer.text))
    stated = stated_answer(text)
    said = text if stated is None else stated
    texts = (text, said, *_statements(said, _asked_words(task)))
    keys = [_key(each) for each in texts if not each.lstrip().startswith("[") or len(task.right_answers) == 1]
    accepted = chain.from_iterable(_right_texts(each, task.prompt) for each in task.right_answers)
    is_right = any(_key(normal_form(each)) in keys for each in accepted) or _is_same_data(task.reference, answer.text)
    return AnswerScore(float(is_right), "" if is_right else f"says {said.strip()[:80]!r}")


def _right_texts(right: str, prompt: str) -> Iterator[str]:
    """Yields the texts of a right answer: a JSON boolean may be answered with "yes" or "no" of any language."""
    yield right
    plain = right.strip().casefold()
    for meant, phrases in _PHRASES.items():
        if plain in (same := words_everywhere(meant)):
            yield from same if plain in _BOOLEANS else ()
            yield from () if denies(prompt) else phrases


def _asked_words(task: Task) -> frozenset[str]:
    """Returns the words that are no answer: those of the question, and if yes or no is, auxiliaries: "They can't".

    A question that names the right answer may name wrong answers as well, so that its words count.
    """
    asked = frozenset(words(task.prompt))
    right = [frozenset(words(each)) for each in task.right_answers]
    repeated = frozenset() if any(each <= asked for each in right) else asked
    said = _AUXILIARIES if task.reference.strip().casefold() in _VERDICTS else frozenset[str]()
    return (repeated | said).difference(words_everywhere("negation"), *right)


def _key(text: str) -> tuple[str, list[str]]:
    """Returns the words and the signs that are not punctuation: "a > 1" differs from "a >= 1", and "C#" from "C"."""
    return words_key(text) or " ".join(text.casefold().split()).strip("'\"`"), _SIGNS.findall(text)


def _statements(text: str, asked: frozenset[str]) -> Iterator[str]:
    """Yields what may be the answer: the first and the last sentence, up to its reason, and what is new in them.

    "The mood is good, since ..." says good, "No, since ..." no, and "Goethe wrote it" Goethe if it asks who wrote it.
    """
    sentences = [each for each in _SENTENCES.split(text) if each.strip(" *_")]
    ends = sentences[:1] + sentences[-1:]
    for said in chain(ends, (_REASON.sub("", each) for each in ends)):
        for part in (said, _predicate(said)):
            yield part
            yield _LEADING_WORDS.sub("", part)
            yield " ".join(word for word in _in_full(part).split() if asked.isdisjoint(words(word)))
    yield from islice(_verdicts(ends), 1)


def _verdicts(sentences: Iterable[str]) -> Iterator[str]:
    for sentence in sentences:
        if found := _VERDICT.match(_LEADING_WORDS.sub("", sentence)):
            yield found[found.lastindex or 0]


def _in_full(text: str) -> str:
    for short, full in _IN_FULL:
        text = re.sub(short, full, text)
    return _PRONOUN_IS.sub(r"\1 is", text)


def _predicate(sentence: str) -> str:
    """Returns the end of a sentence, "bad" of "The mood is bad", or all if it denies that: "I don't see it as bad"."""
    found = deque(_SAID_OF.finditer(sentence), maxlen=1)
    is_denied = found and negates_what_follows(sentence[: found[0].start()])
    return sentence[found[0].end() :] if found and not is_denied else sentence


def _is_same_data(reference: str, text: str) -> bool:
    """Checks whether an answer has the JSON object or list of the reference, in any order of its keys."""
    wanted = _data(reference)
    if not wanted:
        return False
    opening, closing = "{}" if wanted.startswith("{") else "[]"
    blocks = [found[2] for found in _FENCED.finditer(text)] or [text]
    found = [_data(each[each.find(opening) : each.rfind(closing) + 1]) for each in blocks]
    return wanted == next(filter(None, reversed(found)), "")


def _data(text: str) -> str:
    """Returns a JSON object or list in one form, without regard to case and spacing, or ""."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    return " ".join(canonical(value).casefold().split()) if isinstance(value, dict | list) and value else ""


def _in_fence(text: str) -> str:
    """Returns the code of an answer that is one fenced block and nothing else, or the answer."""
    fenced = _FENCED.fullmatch(text.strip())
    return fenced[2] if fenced else text


create = Exact
