"""Reads final answers so that they can be compared: a number, an option, the value of a program, or words."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import Literal

from .numbers import (
    Amount,
    amounts,
    decimal_commas,
    plain,
    plain_digits,
    plain_numbers,
    spelled_number,
    without_latex,
    without_powers_of_ten,
)

_OPTION = re.compile(r"^[ \t>*-]{0,8}[(\[]?([A-P])[)\].:][ \t*]{1,8}(\S.*)$", re.MULTILINE)
_PICK = r"(?:\*\*|__|\$|`|\")*[(\[{]?(?:option|choice|answer)? ?(?:\\(?:text|mathrm|boxed)\{)?\(?([A-Pa-p])(?![\w'])"
_ALONE = re.compile(rf"\W{{0,6}}{_PICK}")
_LETTER = re.compile(
    r"(?<!\w)[(\[]([A-P])[)\]]|(?:[Oo]ption|[Cc]hoice) ([A-P])(?!\w)|\*\*([A-P])(?:[.):]|\*\*)"
    r"|\b(?:is|be|choose|pick|select)\b\W{1,4}([A-P])(?=\s*(?:$|[.):,*]))",
    re.MULTILINE,
)
_SPACE = re.compile(r"[\W_]+")
_SENTENCES = re.compile(r"(?<=[^\d\s])[.!?;](?=\s|$)|\n|\u3002")
# "I'd go with B", "B) Roma", "A and C"; not the variable of a formula, the article "A" or the pronoun "I".
_BARE_LETTER = re.compile(
    r"(?<![\w'=+*/^(-])(?:([B-HJ-P])|([AI])(?=[).:,]|\s*$| (?:and|or|und|oder|et|ou|y|o|e) [B-P]\b))(?![\w'=+*/^-])"
)
# A lettered list offers options if a question, a word of choosing or an unfinished sentence leads up to it and nothing
# else is asked after it: outlines, offers and steps have letters as well.
_PICKS = re.compile(
    r"\b(?:which|who|whom|choose|choice|pick|select|identify|correct|incorrect|following|true|false|except|best|option"
    r"|answer|letter|w\u00e4hle|richtig|antwort|elige|selecciona|respuesta|choisi|r\u00e9ponse|scegli|rispost|correct[aoe]|escolha)",
    re.IGNORECASE,
)
_WORKS_OUT = re.compile(
    r"\b(?:find|determine|calculate|compute|solve|estimate|evaluate|express|name|complete|give)\b",
    re.IGNORECASE,
)
_OPEN_REQUEST = re.compile(
    r"\A\W*(?:(?:please|can you|could you) )?(?:rank|sort|order|compare|summari[sz]e|match|improve|rewrite|rephrase"
    r"|translate|shorten|review|proofread|here (?:is|are)|my|our|each of (?:these|them))\b|\ball that (?:are|apply)\b",
    re.IGNORECASE,
)
_GOES_ON = re.compile(
    r"[\w)'\"%_$]\s*\Z|\b(?:is|are|was|were|be|by|to|of|in|for|as|with|from|that|the|an?|means|has):?\s*\Z|_\W*\Z"
)
_LAST_SENTENCE = re.compile(r"[^.!?\n]*(?:[.](?=\d)[^.!?\n]*)*[.!?:\s]*\Z")
_STEM, _EXAM = 400, 4
"""Characters before a list that say what it is for; this many options are usually those of an exam question."""


def options(prompt: str) -> Mapping[str, str]:
    """Returns the options of the last list that a prompt offers, by letter from A; empty for fewer than two."""
    found: dict[str, str] = {}
    prompt = prompt[-MAX_CHARACTERS:]
    start = end = 0
    for listed in _OPTION.finditer(prompt):
        letter, text = listed.groups()
        if letter == "A":
            found, start = {}, listed.start()
        if ord(letter) - ord("A") == len(found):
            found[letter], end = text.strip(" *\t"), listed.end()
    before, behind = prompt[max(0, start - _STEM) : start], prompt[end:].strip()
    return found if len(found) > 1 and _asks_to_pick(len(found), before, behind) else {}


def _asks_to_pick(count: int, before: str, behind: str) -> bool:
    if _PICKS.search(behind):
        return True
    sentence = _LAST_SENTENCE.findall(before.rstrip())[0]
    if _OPEN_REQUEST.search(sentence) or (behind[:1].isupper() and behind[-1] in ".?!:"):
        return False
    is_exam = count >= _EXAM or "?" in before or not before.strip()
    return is_exam or any(pattern.search(before) for pattern in (_PICKS, _WORKS_OUT, _GOES_ON))


def picked_option(stated: str, among: Mapping[str, str]) -> str:
    """Returns the letter for a stated answer, found by its letter or its text, or ""."""
    if (letter := _ALONE.match(stated)) and _may_be(letter[1], stated, among):
        return letter[1].upper()
    words = _plain_words(stated)
    return next(
        (letter for letter, text in among.items() if words and words == _plain_words(text)),
        mentioned_option(stated, among) or named_option(stated, among),
    )


def mentioned_option(text: str, among: Mapping[str, str]) -> str:
    """Returns the last letter that is written as an option, or ""."""
    letters = [next(filter(None, groups)) for groups in _LETTER.findall(text)]
    return next((letter for letter in reversed(letters) if letter in (among or letters)), "")


def named_option(text: str, among: Mapping[str, str]) -> str:
    """Returns the option that a short answer names by a bare letter or in words, or "".

    The option at the beginning wins, then the only one in the latest sentence that has just one.
    """
    texts = {letter: f" {words} " for letter, option in among.items() if (words := _plain_words(option))}
    whole = f" {_plain_words(text)} "
    opening = (letter for letter, option in texts.items() if whole.startswith(option))
    sentences = [_options_in(sentence, texts) for sentence in reversed(_SENTENCES.split(text))]
    alone = (next(iter(each)) for each in sentences if len(each) == 1)
    return next(chain(opening, alone), "")


def _options_in(sentence: str, texts: Mapping[str, str]) -> set[str]:
    """Returns the letter of each option that a sentence names, in words or by a bare letter."""
    words = f" {_plain_words(sentence)} "
    bare = {found[1] or found[2] for found in _BARE_LETTER.finditer(sentence)}
    return {letter for letter, option in texts.items() if option in words or letter in bare}


def _may_be(letter: str, stated: str, among: Mapping[str, str]) -> bool:
    """Checks whether a letter at the start is an option and not the word "a" or "I"."""
    if among and letter.upper() not in among:
        return False
    return (letter.isupper() and not re.match(r"\W*[AI] [a-z]", stated)) or len(stated.strip(" .()[]*\"'`$")) == 1


def _plain_words(text: str) -> str:
    return _SPACE.sub(" ", text.casefold()).strip()


_MARKED = re.compile(
    r"\\(?:boxed|fbox)\s?\{|^[ \t]{0,8}#{4}(?!#)[ \t]{0,8}"
    r"|\"(?:final[ _]?)?(?:answer|result|solution)\"\s{0,8}:\s{0,8}",
    re.IGNORECASE | re.MULTILINE,
)
_SAID = re.compile(
    r"\b(?:answer|choice|option)(?: (?:to|for) [^.:\n]{1,80})?\W{0,6}"
    r"(?:\bis\b(?: that\b)?|\bwould be\b|\bshould be\b|:|=)"
    r"(?: (?:therefore|thus|option|choice|the|approximately|about))*"
    r"|\b(?:antwort|lautet|respuesta|r\u00e9ponse|risposta|resposta)\W{0,6}(?:\b(?:ist|lautet|es|est|\u00e8|\u00e9)\b|:)"
    r"|\b(?:antwoord|cevap|odpowied\u017a|\u043e\u0442\u0432\u0435\u0442)\W{0,6}(?:\b(?:is|to)\b|:)"
    r"|(?:\u7b54\u6848|\u7b54\u3048|\u0909\u0924\u094d\u0924\u0930|\u0627\u0644\u062c\u0648\u0627\u0628)\s?"
    r"(?:\u662f|\u4e3a|\u306f|\u0647\u0648|:|\uff1a)",
    re.IGNORECASE,
)
_ENDS = re.compile(r"\n|(?<=[^\d\s])\.(?=\s|$)|(?<=\d)\.(?=\s|$)|\u3002")
_STRING = re.compile(r'"(?:[^"\\]|\\.){0,4000}"', re.DOTALL)
_SCALAR = re.compile(r"[^,}\n]{1,400}")
_FRAME = " \t\r\n*_`:"
_OPENS_ONLY = re.compile(r"^[\s*_`$({\[\]})]*$")
LONGEST_STATED = 2_000
MAX_CANDIDATES = 20


def stated_answer(text: str) -> str | None:
    """Returns the answer that the text states, as written: the last marked one, else the last announced in words.

    Returns "" if the stated answer is an empty string, and None if none is stated.
    """
    for mark in reversed(list(_MARKED.finditer(text))[-MAX_CANDIDATES:]):
        if (found := _marked_answer(mark.group(), text[mark.end() : mark.end() + LONGEST_STATED])) is not None:
            return found
    return next(_worded_answers(text), None)


def _marked_answer(mark: str, rest: str) -> str | None:
    if mark.startswith("\\"):
        return _box_content(rest)
    if mark.startswith('"'):
        return _json_value(rest)
    return _stated_line(rest) or None


def _worded_answers(text: str) -> Iterator[str]:
    """Yields the texts after words that announce an answer, the last one first."""
    for match in reversed(list(_SAID.finditer(text))[-MAX_CANDIDATES:]):
        if line := _stated_line(text[match.end() : match.end() + LONGEST_STATED].lstrip(_FRAME)):
            yield line


def _stated_line(rest: str) -> str:
    line = _ENDS.split(rest, maxsplit=1)[0].strip(_FRAME)
    return "" if _OPENS_ONLY.match(line) else line


def _box_content(rest: str) -> str | None:
    """Returns the content up to the closing brace, or None if it is cut off."""
    depth = 1
    for place, letter in enumerate(rest):
        depth += (letter == "{") - (letter == "}")
        if depth == 0:
            return rest[:place].strip() or None
    return None


def _json_value(rest: str) -> str | None:
    """Returns the value of a JSON field; a list or an object as written, up to the end of the line."""
    if quoted := _STRING.match(rest):
        try:
            return str(json.loads(quoted.group(), strict=False))
        except ValueError:
            return quoted.group()[1:-1]
    if rest.startswith(("[", "{")):
        return rest.partition("\n")[0].rstrip(" ,}`")
    return scalar.group().strip() if (scalar := _SCALAR.match(rest)) else None


Kind = Literal["number", "option", "code", "text"]
MAX_CHARACTERS = 20_000
LONGEST_WORDS = 400
LONGEST_VALUE = 4_000
MIN_PROSE_WORDS = 3
_CODE = re.compile(
    r"```(?!json)[a-z]|\[PYTHON\]|^\s{0,8}(?:def \w+\(|class \w+[(:]|assert \w|print\(|from \w+ import )"
    r"|\bfunction \w+\(",
    re.MULTILINE,
)
_COUNTS = re.compile(
    r"\bhow (?:many|much|old|long|far|tall|often)\b|\bwhat (?:number|percent)|\bpercentage\b"
    r"|\b(?:wie ?viele?|cu[a\u00e1]nt[oa]s?|combien|quant[ei])\b|\u591a\u5c11",
    re.IGNORECASE,
)
_RECKONS = re.compile(
    r"\b(?:calculate|compute|determine|evaluate|find|simplify|what is|what's|solve|sum|total)\b"
    r"|\d\s{0,3}[-+*/=\u00d7]\s{0,3}\d|\$[^$\n]{0,200}\\?[=^+<]",
    re.IGNORECASE,
)
_ASKS = re.compile(r"\b(?:what|how)\b[^.?\n]{0,300}\?", re.IGNORECASE)
_QUANTITY = re.compile(
    r"\d+|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|dozen|half|twice|third)\b", re.IGNORECASE
)
_ENDS_OF_SENTENCES = re.compile(r"[.!?](?=\s|$)|\n|\u3002")
_BRACKETS = re.compile(r"(?<!\\)[(\[][^()\[\]]{0,400}[)\]]")
_DIGIT = re.compile(r"\d")
_LEADING = re.compile(r"[-$]{0,2}\d")
_NONWORD = re.compile(r"[^\w%$.+-]+|[.](?!\d)|(?<!\d)-|_")
_QUOTED = re.compile(r"'((?:[^'\\\n]|\\.){0,2000})'|\"((?:[^\"\\\n]|\\.){0,2000})\"")
_EXPRESSION = re.compile(r"\\[a-zA-Z]|[\^()\[\]{}+*\u00d7\u221a\u03c0;]|,(?!\d{3})|\d[abijnxyz]\b|[\w)]-[\w(]")
_WORD = re.compile(r"(?<!\\)\b[^\W\d_]{2,}")
_ASSERTED = re.compile(r"^assert\b.{0,2000}?== ?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class FinalAnswer:
    """A final answer as written in `text`. Answers of one kind are equal if their `key` is.

    `stated` is true if the text names it as its answer; otherwise it is the last number or option in the text.
    `amount` is what a number is worth, and None for a formula.
    """

    kind: Kind
    text: str
    key: str
    stated: bool = True
    amount: Amount | None = field(default=None, compare=False)


def final_answer(text: str, prompt: str = "", kind: Kind | None = None) -> FinalAnswer | None:
    """Returns the final answer of `text` to `prompt`, or None if there is none that can be compared."""
    text = text[-MAX_CHARACTERS:].strip()
    stated = stated_answer(text)
    match wanted := kind or kind_of(prompt):
        case "number":
            return next(number_answers(text, prompt), None)
        case "option":
            return _option(text, stated or "", options(prompt))
        case "code":
            return _text_answer(wanted, text, stated, value_key)
        case _:
            return _text_answer(wanted, text, stated, words_key)


def number_answers(text: str, prompt: str = "") -> Iterator[FinalAnswer]:
    """Yields the number that is the answer, once for each way in which its points and commas may be meant."""
    text = text[-MAX_CHARACTERS:].strip()
    stated = stated_answer(text)
    for commas in decimal_commas(text, prompt):
        if stated is not None:
            found = _stated_number(_plain_notation(stated, commas))
        else:
            found = _last_number(_plain_notation(text, commas), _plain_notation(prompt[-MAX_CHARACTERS:], commas))
        if found:
            yield found


def same(a: FinalAnswer | None, b: FinalAnswer | None) -> bool:
    """Checks whether two answers say the same. A missing answer equals nothing, not even another missing one."""
    return a is not None and b is not None and a.kind == b.kind and a.key == b.key


@lru_cache(maxsize=256)
def kind_of(prompt: str) -> Kind:
    """Returns the kind of answer that a prompt asks for."""
    if options(prompt):
        return "option"
    if _CODE.search(prompt[-MAX_CHARACTERS:]):
        return "code"
    return "number" if _COUNTS.search(prompt[-MAX_CHARACTERS:]) or _calculates(prompt[-MAX_CHARACTERS:]) else "text"


def _calculates(prompt: str) -> bool:
    quantities = len(_QUANTITY.findall(prompt))
    return bool((quantities and _RECKONS.search(prompt)) or (quantities > 1 and _ASKS.search(prompt)))


def words_key(text: str) -> str:
    """Returns the words alone, or the number that they are; "" for a text too long to be repeated word for word."""
    if len(words := " ".join(_NONWORD.sub(" ", without_latex(text).casefold()).split())) > LONGEST_WORDS:
        return ""
    found = list(amounts(text)) if _LEADING.match(words) and len(words.split()) < MIN_PROSE_WORDS else []
    return plain(found[0].value) if len(found) == 1 else words


def value_key(text: str) -> str:
    """Returns a literal with normalised spaces and quotes, without quotes around the whole; other text as it is."""
    bare = _ASSERTED.sub("", text.strip("`\n"))
    if whole := _QUOTED.fullmatch(bare.strip()):
        bare = _quoted_text(whole)
    elif bare.lstrip().startswith(("[", "(", "{")):
        bare = _without_spaces(bare)
    return (bare or "''") if len(bare) <= LONGEST_VALUE else ""


def _without_spaces(literal: str) -> str:
    pieces, end = [], 0
    for quoted in _QUOTED.finditer(literal):
        pieces += ["".join(literal[end : quoted.start()].split()), f"'{_quoted_text(quoted)}'"]
        end = quoted.end()
    return "".join((*pieces, *literal[end:].split()))


def _quoted_text(quoted: re.Match[str]) -> str:
    return next(inside for inside in quoted.groups() if inside is not None)


def _plain_notation(text: str, commas: bool) -> str:
    return without_powers_of_ten(plain_numbers(plain_digits(without_latex(text)), decimal_comma=commas))


def _stated_number(stated: str) -> FinalAnswer | None:
    result = stated.rpartition("=")[2] or stated
    amount = next(amounts(result), None)
    if amount is None or (_EXPRESSION.search(result) and len(_WORD.findall(result)) < MIN_PROSE_WORDS):
        amount = _spelled_amount(stated)
    if amount is None:
        return FinalAnswer("number", stated, key) if (key := _expression(result)) else None
    return FinalAnswer("number", stated, plain(amount.value), amount=amount)


def _last_number(text: str, prompt: str) -> FinalAnswer | None:
    amount = _last_amount(text, prompt) or _spelled_amount(text)
    key = plain(amount.value) if amount else ""
    return FinalAnswer("number", key, key, stated=False, amount=amount) if amount else None


def _last_amount(text: str, prompt: str) -> Amount | None:
    """Returns the last number of the last sentence that has any, but rather one that is not the prompt's.

    So "$64 for all 16 glasses" says 64 where 16 was asked about. What stands in brackets is an aside.
    """
    for sentence in reversed(_ENDS_OF_SENTENCES.split(text)):
        outside = _BRACKETS.sub(" ", sentence)
        for part in (outside.rpartition("=")[2], outside, sentence):
            if found := list(amounts(part)):
                given = {each.value for each in amounts(prompt)}
                return next((each for each in reversed(found) if each.value not in given), found[-1])
    return None


def _spelled_amount(text: str) -> Amount | None:
    value = None if _DIGIT.search(text) else spelled_number(text)
    return None if value is None else Amount(value)


def _expression(text: str) -> str:
    """Returns a formula without spaces and surrounding marks."""
    key = "".join(text.casefold().split()).strip("$.,;:*`")
    return key if len(key) <= LONGEST_WORDS else ""


def _option(text: str, stated: str, among: Mapping[str, str]) -> FinalAnswer | None:
    if stated and (letter := picked_option(stated, among)):
        return FinalAnswer("option", stated, letter)
    letter = mentioned_option(text, among) or (
        "" if stated or len(text) > LONGEST_WORDS else picked_option(text, among)
    )
    return FinalAnswer("option", letter, letter, stated=False) if letter else None


def _text_answer(kind: Kind, text: str, stated: str | None, key_of: Callable[[str], str]) -> FinalAnswer | None:
    written = text if stated is None else stated
    return FinalAnswer(kind, written.strip(), key, stated is not None) if (key := key_of(written)) else None
