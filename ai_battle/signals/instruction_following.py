"""Checks whether an answer follows its prompt: in the form and language that it asks for, as one turn of its own."""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial
from importlib.resources import files

from .languages import (
    has_word,
    has_word_anywhere,
    language_of,
    languages,
    listed_words,
    plain_words,
    sentences,
    unspaced_words,
    words_everywhere,
)
from .refusals import without_label

MAX_LENGTH = 800
"""Characters of a prompt that are searched for a form: half at its beginning, half at its end."""
_FormCheck = Callable[[str], bool]
_NUMBER = r"(?P<number>\d{1,3}|[^\W\d_]{1,9})"
_TAG = re.compile(r"\b(?:between|inside|within|wrap\w*|enclosed?|in|use)\b[^.\n<]{0,40}<(\w{1,20})>")
_ONE_OF = re.compile(
    r"\b(?:answer|reply|respond)\b[^.:?\n]{0,12}\b(?:only )?with (?:only |either |just )?"
    r"[\"'\u201c]?(\w{1,12})[\"'\u201d]? or [\"'\u201c]?(\w{1,12})\b"
)
_ROW = re.compile(r"^.*(?:\||\t|<t[rd]\b|&).*$", re.MULTILINE)
_ITEM = re.compile(r"^([ \t]{0,8})(?:[-*+\u2022]|\d{1,3}[.)]|\[\d\])[ \t]+\S", re.MULTILINE)
_AND = r"(?:and|or|und|oder|sowie|et|ou|y|o|e|en|of|i|lub|ve|veya|\u0438|\u0438\u043b\u0438)"
_BETWEEN = re.compile(rf",\s(?:{_AND}\s)?|\s{_AND}\s|[\uff0c\u3001;]")
_SENTENCE_END = re.compile(
    r"(?<=[^\W_]{2})[)\"'\u201d]{0,2}[.!?]+[)\"'\u201d*_]{0,2}(?:\s+|\Z)|[\u3002\uff01\uff1f\u0964]+\s*"
)
_CODE_MARK = re.compile(r"```|`[^`\n]+`")
# "At most 50 words" is rarely meant to the word.
_LENGTH_SLACK = 1.25
_REQUEST_CLAUSE = re.compile(r"[.!?:\n]")
_FEW_TOKENS, _PUNCTUATION = 12, ".,:;!?()*\"'`"
_ONES = ("a", "an", "single", "eine", "einem", "einen", "une", "una", "uno", "uma", "jednym", "jedno", "jeden", "tek")


def misses_form(text: str, prompt: str) -> bool:
    """Checks whether the answer lacks a form that the prompt plainly asks for."""
    text = text.strip()
    return bool(text) and any(misses(text) for misses in _wanted_forms(prompt))


@lru_cache(maxsize=128)
def _wanted_forms(prompt: str) -> tuple[_FormCheck, ...]:
    prompt = prompt if len(prompt) <= MAX_LENGTH else f"{prompt[: MAX_LENGTH // 2]}\n{prompt[-MAX_LENGTH // 2 :]}"
    return tuple(_requests(prompt.casefold(), prompt))


def _requests(request: str, prompt: str) -> Iterator[_FormCheck]:
    yield from (misses for name, misses in _PLAIN.items() if not all(_form_questions(name, request)))
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


def _form_questions(name: str, request: str) -> Iterator[bool]:
    """Yields for each mention of a form whether it is part of a question about that form, which requests nothing."""
    for found in _mentions(name, request):
        clause = _REQUEST_CLAUSE.split(request[: found.start()])[-1].split(maxsplit=1)
        yield bool(clause) and clause[0] in words_everywhere("question")


def _lacks_tag(tag: str, text: str) -> bool:
    return tag not in text


def _is_none_of(choice: tuple[str, ...], text: str) -> bool:
    tokens = text.split() if len(choice[0]) == 1 else plain_words(text)
    return not any(word.strip(_PUNCTUATION).casefold() in choice for word in tokens) or len(tokens) > _FEW_TOKENS


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
    prose = _CODE_MARK.sub("", text)
    return sum(map(str.islower, prose)) > sum(map(str.isupper, prose))


def _has_too_many_words(most: int, text: str) -> bool:
    return len(text.split()) > most * _LENGTH_SLACK + 1


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
    """Returns the number of items of a list, by lines or by commas; None if the text is not a list."""
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


_PLAIN: Mapping[str, _FormCheck] = {
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


LEAST_WORDS = 5
"""A shorter turn may repeat another by chance."""
_MAX_CHARACTERS = 20_000
_LABEL = re.compile(r"^[ \t]*(?:\[([^\]\n]{1,30})\]|\*{0,2}([^\W\d_][\w.-]{0,24})\*{0,2}:\*{0,2}(?=\s))", re.MULTILINE)
_DIALOGUE_REQUEST = re.compile(
    r"dialog|conversation|chat|transcript|script|interview|play\b|sketch|scene|faq|gespr\u00e4ch|drehbuch|conversaci\u00f3n"
    r"|conversa\u00e7\u00e3o|conversazione|gesprek|rozmow|\u0434\u0438\u0430\u043b\u043e\u0433|\u5bf9\u8bdd|\u5bfe\u8a71|\u4f1a\u8a71",
    re.IGNORECASE,
)
_TALK = re.compile(
    r"\bdiscussion|\bdebate|\btopic\b|\byour turn\b|\byou are\b|\bsaid\b|\bsays\b|^\[?[^\W\d_]\w*\]?:\s*\Z",
    re.IGNORECASE | re.MULTILINE,
)
_STAGE_LINE = r"(?:\[[^\]\n]{{1,30}}\]|[:\uff1a]|\bsa(?:id|ys)\b)\s*[\"\u201c\u201e\u00ab]?\s*{}"


def runs_on(text: str, prompt: str) -> bool:
    """Checks whether the answer continues with a turn of its user, or with turns of several other speakers."""
    if _DIALOGUE_REQUEST.search(prompt):
        return False
    if any(text[: found.start()].strip() for found in _role().finditer(text[:_MAX_CHARACTERS])):
        return True
    labels = list(_labels(text))
    again = len(set(labels)) < len(labels)
    return len(set(labels)) > 1 and again and _is_known(labels, prompt)


_AROUND = " \n\"'\u201c\u201d*_>-"


def repeats_turn(text: str, prompt: str, earlier: Sequence[str] = ()) -> bool:
    """Checks whether the answer is another speaker's turn word for word, or only combines what several said."""
    answer = without_label(text.strip(_AROUND)).strip(_AROUND)
    if len(answer.split()) < LEAST_WORDS and (answer.isascii() or len(answer) < 2 * LEAST_WORDS):
        return False
    is_turn = any(answer == without_label(turn.strip()).strip() for turn in (prompt, *earlier))
    return is_turn or _is_said_in(prompt, answer)


def _is_said_in(prompt: str, answer: str) -> bool:
    """Checks whether a conversation has all sentences of the answer, or a speaker in it says the answer."""
    if len(set(_labels(prompt))) > 1 and all(map(prompt.count, sentences(answer))):
        return True
    at = prompt.rfind(answer)
    return at >= 0 and _TALK.search(prompt) is not None and _is_spoken(prompt[:at])


@cache
def _role() -> re.Pattern[str]:
    """Returns a pattern for a name of the user ("User:", "Human:") at the beginning of a line."""
    names = "|".join(sorted(words_everywhere("user")))
    return re.compile(
        rf"^[ \t]*(?:\*\*|\#{{1,4}} ?|\[)?(?:{names})(?:\*\*|\])? ?[:\uff1a]", re.IGNORECASE | re.MULTILINE
    )


def _labels(text: str) -> Iterator[str]:
    """Yields the names of the speakers at the beginnings of lines."""
    return ((found[1] or found[2]).casefold() for found in _LABEL.finditer(text[:_MAX_CHARACTERS]))


def _is_known(labels: Sequence[str], prompt: str) -> bool:
    """Checks whether the prompt has all labels, and is a conversation or uses one of them as a label itself."""
    lowered = prompt.casefold()
    return all(label in lowered for label in labels) and (
        _TALK.search(prompt) is not None or not set(labels).isdisjoint(_labels(prompt))
    )


def _is_spoken(before: str) -> bool:
    """Checks whether the text before a place introduces what somebody says."""
    return re.search(_STAGE_LINE.format(r"\Z"), before[-60:]) is not None


LEAST_ASKED, SURE = 2, 6
"""Votes needed to tell the language of a prompt, and of an answer that is reported to be in another one."""
FEW_WORDS = 7
LATIN = frozenset(("en", "de", "fr", "es", "pt", "it", "nl", "pl", "tr"))
LEAST, LEAST_OF_SCRIPT, LEAST_UNSPACED = 7, 3, 8
"""The least size of a wrong answer: words in the same script as the prompt, words in another script, and characters in
a script without spaces."""
_CODE = re.compile(r"```[\s\S]*?(?:```|\Z)|`[^`\n]{1,400}`")
_QUOTED = re.compile(
    r"[\"\u201c\u201e\u00ab\u300c][^\"\u201d\u00bb\u300d\n]{2,400}[\"\u201d\u00bb\u300d]|(?<!\w)'[^'\n]{2,200}'(?!\w)"
)
_CLAUSE = re.compile(r"[.!?:\n\u3002\uff1a\uff1f\u061f]")
_UNSPACED_WORD = re.compile(r"[\u3040-\u9fff]")
_OTHER_LETTERS = re.compile(r"[\u0400-\u04ff\u0600-\u06ff\u0900-\u097f\u3040-\u30ff\u4e00-\u9fff]")
_OPENING_CHARACTERS = 2_000
_FRAME = " .!\"'\u2018\u2019\u201c\u201d"


def is_in_wrong_language(text: str, prompt: str) -> bool:
    """Checks whether the answer is in another language than the prompt, or than the one the prompt names.

    A translation only has to differ from its source and to avoid the script of a third language.
    """
    answer = _CODE.sub("", text).strip()
    # JSON has keys in the language of its schema, whatever the prompt's language is.
    if answer.startswith(("{", "[{", "[\n", '["')):
        return False
    if has_word_anywhere(prompt, "translate"):
        return _is_untranslated(answer, prompt)
    if wanted := _to_answer_in(prompt):
        return language_of(answer) not in ("", *wanted) and len(answer.split()) >= LEAST_OF_SCRIPT
    return not _named_languages(prompt) and _is_foreign(answer, prompt)


def _is_foreign(answer: str, prompt: str) -> bool:
    """Checks whether an answer is in a foreign language. The script decides if the prompt's language is unknown."""
    language, found = _asked_language(_QUOTED.sub("", prompt)), language_of(answer)
    if found in ("", language):
        return False
    if language and _letters(found) == _letters(language):
        return len(answer.split()) >= LEAST and language_of(answer, SURE) == found
    if not language and (found in LATIN) != _has_other_letters(prompt):
        return False
    # Chinese and Japanese share characters, so a short text of one can look like the other.
    return _is_long(answer) and {found, language} != {"zh", "ja"}


def _asked_language(prompt: str) -> str:
    """Returns the language. Beyond a few words one vote is not enough: "die" and "are" are in several languages."""
    return language_of(prompt, LEAST_ASKED if len(prompt.split()) <= FEW_WORDS else 2 * LEAST_ASKED)


def _is_untranslated(answer: str, prompt: str) -> bool:
    """Checks whether a text is not translated. Returns false if the prompt names no known language."""
    named = _named_languages(prompt)
    if not named or len(answer.split()) < 2:
        return False
    if answer.strip(_FRAME).casefold() in prompt.casefold():
        return True
    wanted = set(map(_letters, named))
    return _letters(language_of(answer) or "en") not in {*wanted, _letters(language_of(prompt) or "en")} or (
        "" not in wanted and not _has_other_letters(answer) and not _has_other_letters(prompt)
    )


def _letters(language: str) -> str:
    """Returns the language, or an empty string for any language in Latin letters."""
    return "" if language in LATIN else language


def _has_other_letters(text: str) -> bool:
    return _OTHER_LETTERS.search(text) is not None


def _is_long(text: str) -> bool:
    return len(text) >= LEAST_UNSPACED if _UNSPACED_WORD.search(text) else len(text.split()) >= LEAST_OF_SCRIPT


@lru_cache(maxsize=64)
def _to_answer_in(prompt: str) -> tuple[str, ...]:
    """Returns the languages that a prompt asks to answer in."""
    clauses = [clause for clause in _CLAUSE.split(prompt[:_OPENING_CHARACTERS]) if has_word_anywhere(clause, "answer")]
    return tuple(language for clause in clauses for language in _named_languages(clause))


@lru_cache(maxsize=256)
def _named_languages(prompt: str) -> tuple[str, ...]:
    """Returns the languages that a prompt names."""
    if not has_word_anywhere(prompt, "name"):
        return ()
    return tuple(
        language
        for language in languages()
        if has_word(prompt, language, "name") or any(name in prompt for name in unspaced_words(language, "name"))
    )
