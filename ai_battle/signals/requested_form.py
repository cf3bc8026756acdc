"""Finds the form that a prompt plainly asks for, and checks whether an answer has it."""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache, partial
from importlib.resources import files

from .languages import languages, listed_words, plain_words, words_everywhere

LONGEST = 800
"""Characters of a prompt that are searched for a form: half at its beginning, half at its end."""
_Misses = Callable[[str], bool]
_NUMBER = r"(?P<number>\d{1,3}|[^\W\d_]{1,9})"
_TAG = re.compile(r"\b(?:between|inside|within|wrap\w*|enclosed?|in|use)\b[^.\n<]{0,40}<(\w{1,20})>")
_ONE_OF = re.compile(
    r"\b(?:answer|reply|respond)\b[^.:?\n]{0,12}\b(?:only )?with (?:only |either |just )?"
    r"[\"'\u201c]?(\w{1,12})[\"'\u201d]? or [\"'\u201c]?(\w{1,12})\b"
)
_ROW = re.compile(r"^.*(?:\||\t|<t[rd]\b|&).*$", re.MULTILINE)
_ITEM = re.compile(r"^([ \t]{0,8})(?:[-*+\u2022]|\d{1,3}[.)]|\[\d\])[ \t]+\S", re.MULTILINE)
_BETWEEN = re.compile(
    r",\s(?:and |or |und |et |y |e |en |i |ve |\u0438 )?|\s(?:and|und|et|y|e|en|i|ve|\u0438)\s|[\uff0c\u3001;]"
)
_SENTENCE_END = re.compile(
    r"(?<=[^\W_]{2})[)\"'\u201d]{0,2}[.!?]+[)\"'\u201d*_]{0,2}(?:\s+|\Z)|[\u3002\uff01\uff1f\u0964]+\s*"
)
_CODE = re.compile(r"```|`[^`\n]+`")
# "At most 50 words" is rarely meant to the word.
_SLACK = 1.25
_CLAUSE = re.compile(r"[.!?:\n]")
_FEW, _FRAME = 12, ".,:;!?()*\"'`"
_ONES = ("a", "an", "single", "eine", "einem", "einen", "une", "una", "uno", "uma", "jednym", "jedno", "jeden", "tek")


def misses_form(text: str, prompt: str) -> bool:
    """Checks whether the answer lacks a form that the prompt plainly asks for."""
    text = text.strip()
    return bool(text) and any(misses(text) for misses in _wanted_forms(prompt))


@lru_cache(maxsize=128)
def _wanted_forms(prompt: str) -> tuple[_Misses, ...]:
    prompt = prompt if len(prompt) <= LONGEST else f"{prompt[: LONGEST // 2]}\n{prompt[-LONGEST // 2 :]}"
    return tuple(_requests(prompt.casefold(), prompt))


def _requests(request: str, prompt: str) -> Iterator[_Misses]:
    yield from (misses for name, misses in _PLAIN.items() if not all(_abouts(name, request)))
    for name, misses_number in _COUNTED.items():
        numbers = {_number(found["number"]) for found in _mentions(name, request)} - {0}
        yield from (partial(misses_number, number) for number in numbers)
    yield from (partial(_lacks_tag, f"<{tag}") for tag in _TAG.findall(prompt) if f"</{tag}>" not in prompt)
    if choice := _ONE_OF.search(request):
        yield partial(_is_none_of, choice.groups())


def _mentions(name: str, request: str) -> Iterator[re.Match[str]]:
    hints, pattern = _forms()[name]
    # Searching for a few hints is much cheaper than the pattern, and most prompts ask for no form.
    return pattern.finditer(request) if any(hint in request for hint in hints) else iter(())


@cache
def _forms() -> Mapping[str, tuple[tuple[str, ...], re.Pattern[str]]]:
    """Returns for each form its hints, one of which every request for it contains, and the pattern of a request."""
    forms = tomllib.loads(files(__package__).joinpath("forms.toml").read_text(encoding="utf-8"))
    return {
        name: (tuple(form["hints"]), re.compile("|".join(form["patterns"]).replace("NUMBER", _NUMBER)))
        for name, form in forms.items()
    }


def _abouts(name: str, request: str) -> Iterator[bool]:
    """Yields for each mention of a form whether it is part of a question about that form, which requests nothing."""
    for found in _mentions(name, request):
        clause = _CLAUSE.split(request[: found.start()])[-1].split(maxsplit=1)
        yield bool(clause) and clause[0] in words_everywhere("question")


def _lacks_tag(tag: str, text: str) -> bool:
    return tag not in text


def _is_none_of(choice: tuple[str, ...], text: str) -> bool:
    tokens = text.split() if len(choice[0]) == 1 else plain_words(text)
    return not any(word.strip(_FRAME).casefold() in choice for word in tokens) or len(tokens) > _FEW


def _is_wordy(text: str) -> bool:
    return len(text.split()) > 4 or (not text.isascii() and len(text) > 24)


def _gives_no_verdict(text: str) -> bool:
    verdicts = words_everywhere("yes") | words_everywhere("no")
    return verdicts.isdisjoint(plain_words(text)) and (
        text.isascii() or not any(mark in text for mark in "\u662f\u4e0d\u5426\u306f\u3044")
    )


def _gives_no_number(text: str) -> bool:
    return not any(map(str.isdigit, text)) and _numerals().keys().isdisjoint(plain_words(text))


def _has_no_table(text: str) -> bool:
    return len(_ROW.findall(text)) < 2 and text.count(",") < 2 * (text.count("\n") + 1)


def _has_no_items(text: str) -> bool:
    return len(_ITEM.findall(text)) < 2


def _is_not_in_capitals(text: str) -> bool:
    prose = _CODE.sub("", text)
    return sum(map(str.islower, prose)) > sum(map(str.isupper, prose))


def _has_too_many_words(most: int, text: str) -> bool:
    return len(text.split()) > most * _SLACK + 1


def _has_other_sentences(number: int, text: str) -> bool:
    """Checks the number of sentences. Lists have none, and in many sentences an abbreviation may add or hide one."""
    if _ITEM.search(text) or "```" in text:
        return False
    found = len(
        [
            piece
            for piece in _SENTENCE_END.split(text)
            if len(piece.split()) > 1 or (not piece.isascii() and len(piece) > 4)
        ]
    )
    return found > number + (number > 1) or (found < number and number - found > number // 4)


def _has_other_items(number: int, text: str) -> bool:
    found = _items(text)
    return found is not None and found != number


def _has_fewer_items(number: int, text: str) -> bool:
    found = _items(text)
    return found is not None and found < number


def _has_other_lines(number: int, text: str) -> bool:
    lines = [line for line in re.split(r"\n| / ", text) if line.strip()]
    return number > 1 and len(lines) < number


def _items(text: str) -> int | None:
    """Returns the number of items of a list, by lines or by commas; None if the text is no list."""
    if indents := [len(indent) for indent in _ITEM.findall(text)]:
        return indents.count(min(indents)) if len(indents) > 1 else None
    if "\n" in text or len(text) > 200 or len(pieces := _BETWEEN.split(text)) < 2:
        return None
    return len(pieces) if all(0 < len(piece.split()) <= 4 for piece in pieces) else None


def _number(written: str) -> int:
    """Returns the number that a numeral or digits stand for; 0 for other words."""
    return int(written) if written.isdigit() else 1 if written in _ONES else _numerals().get(written, 0)


@cache
def _numerals() -> Mapping[str, int]:
    """Returns the numerals from one to ten in all languages."""
    listed = (listed_words(language, "numerals") for language in languages())
    return {word: number for words in listed for number, word in enumerate(words, 1)}


_PLAIN: Mapping[str, _Misses] = {
    "one_word": _is_wordy,
    "yes_or_no": _gives_no_verdict,
    "number_only": _gives_no_number,
    "table": _has_no_table,
    "bullets": _has_no_items,
    "capitals": _is_not_in_capitals,
}
_COUNTED: Mapping[str, Callable[[int, str], bool]] = {
    "most_words": _has_too_many_words,
    "sentences": _has_other_sentences,
    "exactly": _has_other_items,
    "at_least": _has_fewer_items,
    "lines": _has_other_lines,
}
