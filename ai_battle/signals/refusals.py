"""Checks whether an answer refuses, or only announces or offers something; removes courtesies."""

import re
from collections.abc import Callable, Iterator
from functools import cache, lru_cache

from .languages import (
    UNSPACED,
    closed_words,
    has_word,
    has_word_anywhere,
    language_of,
    languages,
    plain_words,
    sentences,
)

MAX_CHARACTERS = 20_000
_APOSTROPHES = str.maketrans({"\u2019": "'", "\u2018": "'", "\u02bc": "'", "\u00b4": "'", "`": "'"})


def _alternatives(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives))


_REFUSES = _alternatives(
    r"\bi(?:'m| am) (?:sorry|afraid),?(?: but)?(?: that)? i(?: can't| cannot| can not|'m| am| won't| do not| don't)",
    r"\bi (?:must|have to|need to) (?:decline|refuse)\b|\bi (?:won't|will not) (?:be able to )?(?:help|assist"
    r"|provide|answer)\b",
    r"\bas an? (?:ai|artificial intelligence|(?:large )?language model)\b[^.]{0,40}\b(?:can't|cannot|not able"
    r"|unable|don't|do not)\b",
    r"\bi (?:can't|cannot) (?:assist|help|fulfil|comply|provide)\b|\bunable to (?:assist|help|comply|fulfil)\b",
    r"\bes tut mir leid,?(?: aber)? ich kann\b|\bd\u00e9sol\u00e9e?,?(?: mais)? je ne (?:peux|suis)\b|\blo"
    r" siento,?(?: pero)? no puedo\b",
    r"\bmi dispiace,?(?: ma)? non posso\b|\bdesculpe,?(?: mas)? n\u00e3o posso\b|\u5f88\u62b1\u6b49"
    r"|\u62b1\u6b49\uff0c|\u7533\u3057\u8a33",
)
# Every match of the pattern has one of these, and looking for them costs a hundredth of it.
_REFUSING = (
    *("sorry", "afraid", "decline", "refuse", "i won't", "i will not", "i can't", "i cannot", "unable to"),
    *("as a ai", "as an ai", "artificial intelligence", "language model"),
    *("tut mir leid", "d\u00e9sol", "lo siento", "dispiace", "desculpe", "\u62b1\u6b49", "\u7533\u3057\u8a33"),
)
# Negated, conditional or quoted phrases admit nothing: "It is not that I don't know", "don't say you are unable".
_NEGATING = (
    *("n't", "not", "unsure", "unable", "uncertain", "stuck", "loss", "confused", "incapable", "beyond", "outside"),
    *("no ", "give up", "decline", "refuse", "sorry", "nicht", "keine", "leid", " ne ", " pas", "n\u00e3o", "non "),
    "desculpe",
)
_IDEOGRAPH = re.compile(r"[\u3040-\u9fff]")
_DENIED = re.compile(
    r"(?:\bnot that|\bnever|\b(?:do not|don't|doesn't|didn't|cannot|can't) (?:say|think|believe|mean"
    r"|claim)(?: that)?|\bno longer"
    r"|\bif|\bwhen|\bwhether|\bunless|\bonce|\buntil|\bin case|[\"\u201c\u00ab])\s*$"
)
_OPENING, _BEYOND, _SHORT = 160, 80, 400


def refuses(text: str) -> bool:
    """Checks whether an answer refuses at its start, or anywhere if it is short."""
    opening = _opening(text)
    if not (_negates(opening) and any(mark in opening for mark in _REFUSING)):
        return False
    found = (
        match for match in _REFUSES.finditer(opening) if match.start() <= _OPENING or len(opening) != _OPENING + _BEYOND
    )
    return any(not _DENIED.search(opening[max(0, match.start() - 40) : match.start()]) for match in found)


def _negates(opening: str) -> bool:
    """Checks for a negating word. Substring checks take a tenth of the time of the pattern."""
    if any(word in opening for word in _NEGATING):
        return True
    return not opening.isascii() and _IDEOGRAPH.search(opening) is not None


def _opening(text: str) -> str:
    """Returns the start of a text, or all of a short one."""
    text = text.strip()
    return _plain_words(text if len(text) <= _SHORT else text[: _OPENING + _BEYOND])


def _plain_words(text: str) -> str:
    return text[-MAX_CHARACTERS:].casefold().translate(_APOSTROPHES).strip()


PHRASE_CHARACTERS = 260
"""The most characters of an answer that may consist of phrases alone."""
MAX_OTHER_WORDS = 3
"""The most words, apart from the closed classes, of an answer that gives up."""
REFUSAL_SENTENCES = 2
"""The sentences at the start of an answer of which one may deny access."""
STEM_LENGTH = 4
"""Two words with this many equal first letters count as forms of one."""
_LABEL = re.compile(
    r"\s{0,4}(?:\[[^\]\n]{1,30}\]|\*{0,2}[^\W\d_][\w.-]{0,20}(?: [^\W\d_][\w.-]{0,20})?:\*{0,2}(?=\s))\s*"
)
_IDEOGRAPHS, _KANA = re.compile(r"[\u4e00-\u9fff]"), re.compile(r"[\u3040-\u30ff]")
_UNSPACED_PIECE = re.compile(r"[^\W_\u3040-\u9fff]+|[\u3040-\u9fff]{1,2}")
_GIVEN = re.compile(
    r"(?<!\w)[\"'\u201c\u201e\u00ab\u300c]([^\n]{2,260}?)[\"'\u201d\u00bb\u300d](?!\w)"
    r"|[:\uff1a]\s*([^\s:\uff1a\"'][^:\uff1a]*)\Z"
)
_DIGITS = re.compile(r"\d+")
_PLACE = re.compile(r"https?://[^\s,;!?]{1,200}(?<!\.)|(?<![\w.])[\w/-]{1,80}\.[a-z]\w{1,4}\b")
_OF_ACCESS = ("negation", "excuse", "access", "now", "common", "hand_over", "content", "request", "courtesy", "action")
_FIRST_WORD = re.compile(r"[\W_]{0,3}([^\W\d_]{1,8})(?=[.!,:;\u3002\uff0c\uff01]|$)")
QUESTION_MARKS = ("?", "\uff1f", "\u061f")


@lru_cache(maxsize=64)
def gives_up(text: str, prompt: str = "") -> bool:
    """Checks whether an answer denies or apologises and says hardly anything else.

    A question about the asker may have no answer, so there a single further word counts as a reason. An answer may also
    be another wording of such a text that the prompt gives.
    """
    denies = any(_only_denies(part, language, prompt) for part, language in _read(text))
    return denies and not any(gives_up(quoted or last) for quoted, last in _GIVEN.findall(prompt[-PHRASE_CHARACTERS:]))


@lru_cache(maxsize=64)
def only_announces(text: str, prompt: str = "") -> bool:
    """Checks whether an answer announces something and ends, with nothing beyond stock words and the prompt's."""
    return any(_only_promises(part, language, prompt) for part, language in _read(text))


@lru_cache(maxsize=64)
def only_offers(text: str, prompt: str = "") -> bool:
    """Checks whether an answer only greets and offers help. Not so if the prompt is only a greeting too."""
    return any(_only_greets(part, language, prompt) for part, language in _read(text)) and not has_word_anywhere(
        prompt, "translate"
    )


def asks_whether(prompt: str) -> bool:
    """Checks whether a prompt ends with a question that yes or no answers: none of its words asks for more."""
    *_, last = sentences(prompt[-MAX_CHARACTERS:]) or [""]
    asks_more = (has_word(last, language, "interrogative") for language in _languages(prompt))
    return last.endswith(QUESTION_MARKS) and not any(asks_more)


def only_replies(prompt: str) -> bool:
    """Checks whether a prompt only agrees, declines, thanks or greets, so that it asks for nothing."""
    return not prompt.rstrip().endswith(QUESTION_MARKS) and any(
        not _leftovers(part, language, "offer", "courtesy", "thanks", "yes", "no") for part, language in _read(prompt)
    )


def _only_greets(text: str, language: str, prompt: str) -> bool:
    if not text.endswith((*QUESTION_MARKS, ".", "!", "\u3002", "\uff01")) or not has_word(text, language, "offer"):
        return False
    of_prompt = _leftovers(prompt[:PHRASE_CHARACTERS], language, "offer", "courtesy", "thanks")
    left = _leftovers(text, language, "offer", "courtesy")
    if has_word(text, language, "negation") and not has_word(text, language, "closing"):
        return False
    return len(of_prompt) > 1 and not left and len(text.split()) != 1 and not _is_verdict(text, language)


def _only_denies(text: str, language: str, prompt: str) -> bool:
    if text.endswith((":", "\uff1a")) or not has_word(text, language, "negation") or _is_verdict(text, language):
        return False
    if not _is_own(text, language, prompt) or has_word_anywhere(prompt, "secret"):
        return False
    left = _leftovers(text, language, "negation", "excuse")
    return len(left) <= MAX_OTHER_WORDS and len(_new(left, prompt)) <= (0 if _asks_about_asker(prompt, language) else 1)


def _is_own(text: str, language: str, prompt: str) -> bool:
    """Checks whether a denial excuses the speaker. "I did not." answers whether, and "Nobody knows." is an answer."""
    if has_word(text, language, "own"):
        return _excuses(text, language) or not asks_whether(prompt)
    # "The text does not say." is about what the prompt gives.
    is_of_text = len(sentences(prompt)) > 1 and _leftovers(text, language, "negation", "excuse")
    return not is_of_text and _excuses(text, language) and not has_word(text, language, "nobody")


def _asks_about_asker(prompt: str, language: str) -> bool:
    return prompt.rstrip().endswith(QUESTION_MARKS) and has_word(prompt, language, "own")


def denies_access(text: str, prompt: str, of_tools: Callable[[str], bool], *, is_named: bool) -> bool:
    """Checks whether a short text denies access to what the tools work with, or wants it from the user.

    `of_tools` tells whether a word is one of the tools'. A word of the prompt that is not may be what no tool does.
    What the prompt does not name (`is_named`) may have to come from the user.
    """
    return any(
        _is_of_tools(_leftovers(sentence, language, *_OF_ACCESS), prompt, of_tools)
        for part, language in _read(_PLACE.sub(_kind_of_place, text))
        for sentence in sentences(part)[:REFUSAL_SENTENCES]
        if (is_named and _wants_handed(sentence, language))
        or (_denies(sentence, language) and not part.endswith(QUESTION_MARKS))
    )


def _kind_of_place(place: re.Match[str]) -> str:
    return "page" if "//" in place.group() else "file"


def requests_something(text: str) -> bool:
    """Checks whether a short text asks the user for something: "Please give me the order number, then I'll check"."""
    return any(
        any(mark in part for mark in QUESTION_MARKS) or has_word(part, language, "request")
        for part, language in _read(text)
    )


def _is_of_tools(left: list[str], prompt: str, of_tools: Callable[[str], bool]) -> bool:
    strange = [word for word in left if len(word) > 1 and not of_tools(word) and not word.isdecimal()]
    return len(strange) < len(left) and len(strange) <= 1 and _new(strange, prompt) == strange


def _denies(sentence: str, language: str) -> bool:
    """Checks for a denial of the speaker's without a condition, an alternative or a question."""
    limits = any(has_word(sentence, language, kind) for kind in ("clause", "contrast", "interrogative"))
    speaks = any(has_word(sentence, language, kind) for kind in ("access", "own"))
    return speaks and not limits and has_word(sentence, language, "negation") and not _is_verdict(sentence, language)


def _wants_handed(sentence: str, language: str) -> bool:
    return has_word(sentence, language, "hand_over") and any(
        has_word(sentence, language, kind) for kind in ("content", "request")
    )


def excuses_itself(text: str) -> bool:
    """Checks whether a short answer says that it can't or does not know: "I found no errors" is a finding."""
    return any(_excuses(part, language) for part, language in _read(text))


def _excuses(text: str, language: str) -> bool:
    """Checks whether a text apologises with more than a negation, which alone may be the answer."""
    words, stems = closed_words(language, "excuse")
    words = words - closed_words(language, "negation", "function")[0]
    if language in UNSPACED:
        return any(word in text for word in words)
    return any(word in words or word.startswith(stems) for word in plain_words(text))


def _only_promises(text: str, language: str, prompt: str) -> bool:
    """Checks whether a text only promises, unless the prompt announces something too or asks for a translation."""
    if text.endswith(QUESTION_MARKS) or "`" in text or not _announces(text, language) or _is_verdict(text, language):
        return False
    if has_word_anywhere(prompt, "translate") or any(has_word(prompt, name, "promise") for name in _languages(prompt)):
        return False
    if set(_DIGITS.findall(text)) - set(_DIGITS.findall(prompt)):
        return False
    left = _new(_leftovers(text, language, "promise", "pointer", "courtesy", "action", "common"), prompt)
    says_what = any(has_word(text, language, kind) for kind in ("pointer", "action"))
    return len(left) <= int(says_what)


def _announces(text: str, language: str) -> bool:
    return has_word(text, language, "promise") or has_word(text, language, "pointer")


def _is_verdict(text: str, language: str) -> bool:
    """Checks whether a text begins with a separate yes or no."""
    first = _FIRST_WORD.match(text.casefold())
    return first is not None and first[1] in closed_words(language, "yes", "no")[0]


FRAME, MOST_FRAMES = 160, 3
"""The most characters of a sentence that only opens or closes an answer, and the most of them at each end."""
_FIRST_SENTENCE = re.compile(r"\s*+([^\n.!?:\u3002\uff01\uff1f\uff1a]{2,160}+(?:[!:\u3002\uff01\uff1a]|\.(?=\s)))\s*")
_SENTENCE_START = re.compile(r"(?:^|\n|[.!?:]\s|[\u3002\uff01\uff1f])\s*(?=[^\s.!?])")
_OPENING_KINDS, _WORK = ("courtesy", "pointer", "promise", "offer"), ("action", "common")
_PUNCTUATION = " \t\n.!?\u2026*_#>"


@lru_cache(maxsize=64)
def without_courtesies(text: str, prompt: str = "") -> str:
    """Removes sentences that only open or close an answer ("Here you go:", "Let me know if ..."), if any is left."""
    for _ in range(MOST_FRAMES):
        opened = _FIRST_SENTENCE.match(text)
        if not opened or not _opens(opened[1], prompt) or not text[opened.end() :].strip(_PUNCTUATION):
            break
        text = text[opened.end() :]
    for _ in range(MOST_FRAMES):
        at = _last_sentence(text)
        if not at or not _closes(text[at:]) or not text[:at].strip(_PUNCTUATION):
            break
        text = text[:at].rstrip()
    return text


def _last_sentence(text: str) -> int:
    """Returns where the last sentence begins, or 0 if it is long or the only one."""
    first = max(0, len(text) - FRAME)
    starts = [found.end() for found in _SENTENCE_START.finditer(text, first) if text[found.end() :].strip(_PUNCTUATION)]
    return starts[-1] if starts else 0


def _opens(sentence: str, prompt: str) -> bool:
    """Checks whether a sentence only opens an answer. It may name what the prompt asks for if it ends with a colon."""
    asked = prompt if sentence.endswith((":", "\uff1a")) else ""
    return _may_be_courtesy(sentence, asked) and any(
        any(has_word(sentence, language, kind) for kind in _OPENING_KINDS)
        and not _new(_leftovers(sentence, language, *_OPENING_KINDS, *_WORK), asked)
        and not has_word(sentence, language, "negation")
        and not _is_verdict(sentence, language)
        for language in _languages(sentence)
    )


def _closes(sentence: str) -> bool:
    return _may_be_courtesy(sentence) and any(
        (has_word(sentence, language, "closing") or has_word(sentence, language, "thanks"))
        and not _leftovers(sentence, language, "offer", "courtesy", "thanks", *_WORK)
        for language in _languages(sentence)
    )


def _may_be_courtesy(sentence: str, asked: str = "") -> bool:
    """Checks for words outside of the closed classes of all languages, which is quicker than one after another."""
    if _IDEOGRAPH.search(sentence):
        return True
    words, stems = _closed_anywhere()
    said, asked = plain_words(sentence), asked.casefold()
    return bool(said) and all(word in words or word[:STEM_LENGTH] in asked or word.startswith(stems) for word in said)


@cache
def _closed_anywhere() -> tuple[frozenset[str], tuple[str, ...]]:
    kinds = ("function", "thanks", *_OPENING_KINDS, *_WORK)
    known = [closed_words(language, *kinds) for language in languages()]
    return frozenset().union(*(words for words, _ in known)), tuple(stem for _, stems in known for stem in stems)


def without_label(text: str) -> str:
    """Removes the speaker's name at the beginning of a turn."""
    label = _LABEL.match(text)
    return text[label.end() :] if label else text


def _read(text: str) -> Iterator[tuple[str, str]]:
    """Yields a short text without its label, once for each language that it may be in."""
    answer = without_label(text).strip() if len(text) <= PHRASE_CHARACTERS else ""
    if any(map(str.isalpha, answer)):
        yield from ((answer, language) for language in _languages(answer))


@lru_cache(maxsize=64)
def _languages(text: str) -> tuple[str, ...]:
    """Returns the language of a text, or all languages with spaces if it is unclear."""
    if _KANA.search(text):
        return ("ja",)
    if _IDEOGRAPHS.search(text):
        return ("zh",)
    known = language_of(text)
    return (known,) if known else tuple(language for language in languages() if language not in UNSPACED)


def _leftovers(text: str, language: str, *kinds: str) -> list[str]:
    """Returns the words outside of the closed classes. Without spaces, it returns the text between closed words."""
    if language in UNSPACED:
        return _UNSPACED_PIECE.findall(_closed_pattern(language, kinds).sub(" ", text))
    words, stems = closed_words(language, "function", *kinds)
    return [word for word in plain_words(text) if word not in words and not word.startswith(stems)] + _DIGITS.findall(
        text
    )


def _new(leftovers: list[str], prompt: str) -> list[str]:
    """Returns the words that have no form in the prompt."""
    lowered = prompt.casefold()
    return [word for word in leftovers if word.casefold()[:STEM_LENGTH] not in lowered]


@cache
def _closed_pattern(language: str, kinds: tuple[str, ...]) -> re.Pattern[str]:
    words, _ = closed_words(language, "function", *kinds)
    return re.compile("|".join(map(re.escape, sorted(words, key=len, reverse=True))))
