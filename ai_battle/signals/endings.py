"""How a text ends: in the middle, where something was to come, or in circles."""

import re
import unicodedata

from .languages import UNSPACED, closed_words, language_of, plain_words

_OPENS = re.compile(r"(?:(?<![:;=8-])[(\[{\uff08]|(?<=[\w)\]] )[=+]|(?<=[\w)\]])[=+]|(?<=\w)[\uff0c\u3001\u060c])$")
_JSON_BEGINS = re.compile(
    r'\s{0,99}(?:\{\s{0,99}(?:"|$)|\[\s{0,99}(?:["{\[]|-?\d+(?:\.\d+)?\s{0,9}(?:,|$)|(?:true|false|null)\b|$))'
)
_STRUCTURE = re.compile(r'[\[\]{}]|"(?:[^"\\]|\\.)*"?')
_FENCE = re.compile(r"^[ \t>]{0,9}(?:[-*] )?(?:```|~~~)", re.MULTILINE)
_FRAMES = r"[)\"'\u201d\u00bb*_]"
# From the stop, as a text has fewer of these than letters: what stands before it is looked at then.
_STOP_INSIDE = re.compile(
    rf"[.!?\u061f](?:(?<=[^\W_].)|(?<=[^\W_]{_FRAMES}.)|(?<=[^\W_]{_FRAMES}{{2}}.)|(?<=[^\W_]{_FRAMES}{{3}}.))"
    rf"{_FRAMES}{{0,3}}\s|[\u3002\uff01\uff1f\u0964]"
)
_STOP_AT_END = re.compile(r"[.!?\u2026\u3002\uff01\uff1f\u0964\u061f][)\"'\u201d\u00bb\u300d*_]{0,3}$")
_ENDED_LINE = re.compile(rf"{_STOP_AT_END.pattern}|,$")
_ITEM = re.compile(r"\s{0,12}(?:[-*+\u2022]|\d{1,3}[.)])(?:\s+|$)")
_LEADS_ON = re.compile(r"[:\uff1a][\s*_]*$")
_TABLE_LINE, _TABLE_RULE = re.compile(r"\s{0,3}\|.*\|\s*$"), re.compile(r"\s{0,3}\|[\s:|-]+\|\s*$")
_EMPTY_BLOCK = re.compile(r"```\w{0,15}\s*\n\s*```\s*$")
_HEADING = re.compile(r"#{1,3} [^\W\d_]")
_ADDRESS = re.compile(r",\s[^\W\d_][\w-]*$")
_BRACKET_OPENS, _BRACKET_CLOSES = re.compile(r"(?<![:;=8-])[(\[\uff08]"), re.compile(r"[)\]\uff09]")
_COMMA = re.compile(r"[,;:\uff0c\u3001\u060c]")
FEW, LONG, FAREWELL = 3, 10, 24
"""Words that have a last one; words of a line that is a sentence; characters of what is said in parting."""
_LONGEST_GREETING, _LONGEST_CLAUSE = 5, 5
_TAIL = 2_000
_SELECTOR = "\ufe0f"


def cut_off(text: str) -> bool:
    """It ends in the middle of a code block, of JSON, of a list of numbers, of a sentence or of a calculation."""
    end = text[-_TAIL:].rstrip()
    if not end:
        return False
    return (
        bool(_OPENS.search(end[-3:]))
        or _is_open_block(text)
        or _is_open_json(text)
        or _is_open_item(end)
        or _ends_in_comma(end)
        or _ends_in_joint(end)
    )


def stops_short(text: str) -> bool:
    """Its sentences end, but its last one does not."""
    lines = [line.strip() for line in text[-_TAIL:].split("\n") if line.strip()]
    if not lines or not _ends_in_letter(lines[-1]) or "://" in lines[-1].rsplit(" ", 1)[-1]:
        return False
    *before, last = lines
    if _ITEM.match(last):
        others = list(filter(_ITEM.match, before))
        return len(others) > 1 and all(map(_STOP_AT_END.search, others))
    if stops := list(_STOP_INSIDE.finditer(last)):
        return not _is_farewell(last[stops[-1].end() :].strip(), stops[-1].group())
    return _is_long(last) and any(map(_ENDED_LINE.search, before[-1:]))


def breaks_off(text: str, prompt: str = "") -> bool:
    """Its last sentence shows that more was to come: by a bracket, by a clause, or by a word of a single letter.

    The missing stop shows nothing: people and models leave it off.
    """
    line = text[-_TAIL:].rstrip().rsplit("\n", 1)[-1]
    stops = list(_STOP_INSIDE.finditer(line))
    last = line[stops[-1].end() :].strip() if stops else line
    return _is_open(last) or _is_open_clause(last, text) or _is_first_letter(last, text, prompt)


def leads_nowhere(text: str) -> bool:
    """It ends with a colon, with the head of a table, with a heading or with an empty block of code."""
    lines = [line for line in text[-_TAIL:].split("\n") if line.strip()]
    if not lines:
        return False
    if _LEADS_ON.search(lines[-1]) or _EMPTY_BLOCK.search(text[-_TAIL:]):
        return True
    if _TABLE_RULE.match(lines[-1]):
        return len(lines) > 1 and _TABLE_LINE.match(lines[-2]) is not None
    return len(lines) > 1 and _HEADING.match(lines[-1]) is not None


def _is_open_block(text: str) -> bool:
    """Code begins and never ends; JSON whose last brace is there may do without its fence."""
    return "```" in text and len(_FENCE.findall(text)) % 2 == 1 and not text.rstrip().endswith(("}", "]", "```"))


def _is_open_json(text: str) -> bool:
    """It begins as an object or a list, and the brackets of that never close."""
    if not _JSON_BEGINS.match(text):
        return False
    depth = 0
    for found in _STRUCTURE.finditer(text):
        piece = found.group()
        if piece[0] == '"':
            if len(piece) == 1 or not piece.endswith('"'):
                return True
            continue
        depth += 1 if piece in "[{" else -1
        if depth <= 0:
            return False
    return True


def _is_open_item(end: str) -> bool:
    """The number of an item stands alone behind other items."""
    *before, last = end.rsplit("\n", 2)
    return bool(before) and last.strip()[:-1].isdigit() and last.strip()[-1:] in ".)" and bool(_ITEM.match(before[-1]))


def _ends_in_comma(end: str) -> bool:
    """The greeting that ends a letter is short and has no number."""
    line = end[end.rfind("\n") + 1 :]
    return line.endswith(",") and (len(line.split()) > _LONGEST_GREETING or any(map(str.isdigit, line)))


def _ends_in_joint(end: str) -> bool:
    """Its last word is one that no sentence ends with, in a text of several words."""
    line = end[end.rfind("\n") + 1 :]
    if not _ends_in_letter(line) or not (language := language_of(end)):
        return False
    words = plain_words(line)
    return len(words) >= FEW and words[-1] in closed_words(language, "joints")[0] and line.endswith(words[-1])


def _is_open(sentence: str) -> bool:
    """A bracket or a mark of emphasis in it has no counterpart."""
    return (
        len(_BRACKET_OPENS.findall(sentence)) > len(_BRACKET_CLOSES.findall(sentence))
        or sentence.count("\u00ab") != sentence.count("\u00bb")
        or sentence.count("**") % 2 == 1
    )


def _is_open_clause(sentence: str, text: str) -> bool:
    """It is a short clause that another has to follow."""
    words, language = plain_words(sentence), language_of(text[-_TAIL:])
    if not language or not FEW <= len(words) <= _LONGEST_CLAUSE or _COMMA.search(sentence):
        return False
    openers = closed_words(language, "clause")[0]
    return words[0] in openers or "_".join(words[:2]) in openers


def _is_first_letter(sentence: str, text: str, prompt: str) -> bool:
    """Its last word is one letter that is no word, no unit and no name; a capital one may end a sentence."""
    *before, last = sentence.split() or [""]
    language = language_of(text[-_TAIL:])
    if len(last) != 1 or not language or language in UNSPACED:
        return False
    if before and (last.isupper() or before[-1][-1].isdigit()):
        return False
    letter = last.casefold()
    known = closed_words(language, "function", "joints", "common")[0]
    return letter not in known and plain_words(text).count(letter) == 1 and letter not in plain_words(prompt)


def _is_farewell(piece: str, stop: str) -> bool:
    """A few words to somebody behind the last sentence, as people write them without a stop."""
    if len(piece) > FAREWELL:
        return False
    return _ADDRESS.search(piece) is not None or "!" in stop or "\uff01" in stop


def _is_long(piece: str) -> bool:
    return len(piece.split()) >= LONG


def _ends_in_letter(line: str) -> bool:
    """A letter or a vowel sign; the selector behind an emoji is neither."""
    return line[-1] != _SELECTOR and unicodedata.category(line[-1])[0] in "LM"


LONGEST = 20_000
"""Characters of an answer that are looked at, from its end."""

_LOOP_TAIL = 1_600
_PERIODS = 400
_LEAST = 60
_AGAIN = 3
"""Each item of a list stands in it so often on average where it goes round in circles."""
_LEAST_OFTEN, _OFTEN, _OFTEN_DENSE = 28, 8, 4
"""Characters and times that make a loop of a short block; a script without spaces says more with fewer."""
_WORTH, _FRAME = 4, " \t\r\n.,;:!?-*\"'\u3002"
_TIMES = re.compile(
    r"\b(?:repeat|times|wiederhol|mal|fois|veces|vezes|volte|keer|raz[y]?|kez|kere|defa)|\u0440\u0430\u0437|\u6b21|\u904d|\u56de"
    r"|\u092c\u093e\u0930|\u0645\u0631",
    re.IGNORECASE,
)
_LISTED = re.compile(r"^[ \t]{0,8}(?:[-*+\u2022]|\d{1,3}[.)])[ \t]{1,4}(\S[^\n]{0,400}?)[ \t]*$", re.MULTILINE)
_WORD = re.compile(r"\w+")


def looping_tail(text: str, least: int = _LEAST) -> int:
    """The length of the block that a text ends in three times or more, `least` characters in all; 0: it does not."""
    tail = text[-_LOOP_TAIL:].rstrip()
    if len(tail) < least:
        return 0
    end = tail[-(least * 2 // 3) :]  # of what is said three times, this much stands one period earlier too
    place = first = len(tail) - len(end)
    farthest = max(0, first - min(_PERIODS, len(tail) // 3))
    while (place := tail.rfind(end, farthest, place + len(end) - 1)) >= 0:
        period = first - place
        if tail.endswith(tail[-period:] * max(3, -(-least // period))):
            return period if _says_something(tail[-period:]) else 0
    return 0


def repeats(text: str, prompt: str = "") -> bool:
    """It ends in the same block again and again, or lists the same again and again, and nobody asked for that."""
    tail = f" {' '.join(text[-2 * _TAIL :].split())}"
    if period := looping_tail(tail) or _short_period(tail):
        block = tail[-period:].strip(_FRAME)
        return not is_wanted(block, prompt)
    return _lists_the_same(text, prompt)


def is_wanted(block: str, prompt: str) -> bool:
    """The prompt has this block, and says how often it is to come."""
    return block.casefold() in prompt.casefold() and _TIMES.search(prompt) is not None


def _short_period(tail: str) -> int:
    """The length of a short block that the end repeats often enough to be no play with words."""
    period = looping_tail(tail, _LEAST_OFTEN)
    often = _OFTEN_DENSE if period and not tail[-period:].isascii() else _OFTEN
    return period if period >= _WORTH and tail.endswith(tail[-period:] * often) else 0


def _lists_the_same(text: str, prompt: str) -> bool:
    """Each thing stands in a list several times; answers to a list of questions may be alike."""
    items = [item.casefold().rstrip(".;,") for item in _LISTED.findall(text[-LONGEST:])]
    different = len(set(items))
    return 2 < len(items) >= _AGAIN * different and not _LISTED.search(prompt)


def four_word_repetition(text: str, least: int = 16) -> float:
    """The share of four-word runs that stood in the text before; 0 where fewer than `least` tell nothing."""
    words = _WORD.findall(text[-LONGEST:].casefold())
    runs = len(words) - 3
    if runs < least:
        return 0.0
    return 1 - len(set(zip(words, words[1:], words[2:], words[3:], strict=False))) / runs


def _says_something(block: str) -> bool:
    """Lines, dots and blanks are drawn on purpose."""
    return any(character.isalnum() for character in block)
