"""Checks whether an answer is a single turn of its own, in the language that the prompt wants."""

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache

from .languages import (
    has_word,
    has_word_anywhere,
    language_of,
    languages,
    sentences,
    unspaced_words,
    words_everywhere,
)
from .refusals import without_label

LEAST_WORDS = 5
"""A shorter turn may repeat another by chance."""
_LONGEST = 20_000
_LABEL = re.compile(r"^[ \t]*(?:\[([^\]\n]{1,30})\]|\*{0,2}([^\W\d_][\w.-]{0,24})\*{0,2}:\*{0,2}(?=\s))", re.MULTILINE)
_WRITES_TALK = re.compile(
    r"dialog|conversation|chat|transcript|script|interview|play\b|sketch|scene|faq|gespr\u00e4ch|drehbuch|conversaci\u00f3n"
    r"|conversa\u00e7\u00e3o|conversazione|gesprek|rozmow|\u0434\u0438\u0430\u043b\u043e\u0433|\u5bf9\u8bdd|\u5bfe\u8a71|\u4f1a\u8a71",
    re.IGNORECASE,
)
_TALK = re.compile(
    r"\bdiscussion|\bdebate|\btopic\b|\byour turn\b|\byou are\b|\bsaid\b|\bsays\b|^\[?[^\W\d_]\w*\]?:\s*\Z",
    re.IGNORECASE | re.MULTILINE,
)
_SPOKEN = r"(?:\[[^\]\n]{{1,30}}\]|[:\uff1a]|\bsa(?:id|ys)\b)\s*[\"\u201c\u201e\u00ab]?\s*{}"


def runs_on(text: str, prompt: str) -> bool:
    """Checks whether the answer continues with a turn of its user, or with turns of several other speakers."""
    if _WRITES_TALK.search(prompt):
        return False
    if any(text[: found.start()].strip() for found in _role().finditer(text[:_LONGEST])):
        return True
    labels = list(_labels(text))
    again = len(set(labels)) < len(labels)
    return len(set(labels)) > 1 and again and _is_known(labels, prompt)


def repeats_turn(text: str, prompt: str, earlier: Sequence[str] = ()) -> bool:
    """Checks whether the answer is another speaker's turn word for word, or only combines what several said."""
    answer = without_label(text.strip()).strip(" \n\"'\u201c\u201d*")
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
    return ((found[1] or found[2]).casefold() for found in _LABEL.finditer(text[:_LONGEST]))


def _is_known(labels: Sequence[str], prompt: str) -> bool:
    """Checks whether the prompt has all labels, and is a conversation or uses one of them as a label itself."""
    lowered = prompt.casefold()
    return all(label in lowered for label in labels) and (
        _TALK.search(prompt) is not None or not set(labels).isdisjoint(_labels(prompt))
    )


def _is_spoken(before: str) -> bool:
    """Checks whether the text before a place introduces what somebody says."""
    return re.search(_SPOKEN.format(r"\Z"), before[-60:]) is not None


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
_FIRST = 2_000
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
    """Returns the language of a prompt.

    In longer prompts one word is not enough: "ten", "die" and "are" are words of several languages.
    """
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
    clauses = [clause for clause in _CLAUSE.split(prompt[:_FIRST]) if has_word_anywhere(clause, "answer")]
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
