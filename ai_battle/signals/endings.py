"""Checks how a text ends: in the middle, with something announced, or in a loop."""

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
# Matches the stop first and looks behind it after that, since a text has far fewer stops than letters.
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
FEW, LONG, FAREWELL = 3, 10, 24
"""Words of a line whose last word is judged; words of a line that counts as a sentence; characters of a farewell."""
_LONGEST_GREETING = 5
_TAIL_CHARACTERS = 2_000
_SELECTOR = "\ufe0f"


def is_cut_off(text: str) -> bool:
    """Checks whether a text ends inside a code block, JSON, a list, a sentence or a calculation."""
    end = text[-_TAIL_CHARACTERS:].rstrip()
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
    """Checks whether the last sentence has no end mark although earlier ones have."""
    lines = [line.strip() for line in text[-_TAIL_CHARACTERS:].split("\n") if line.strip()]
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
    """Checks whether the last sentence is clearly incomplete: an open bracket or a lone letter.

    A missing full stop alone proves nothing, as people and models leave it out.
    """
    line = text[-_TAIL_CHARACTERS:].rstrip().rsplit("\n", 1)[-1]
    stops = list(_STOP_INSIDE.finditer(line))
    last = line[stops[-1].end() :].strip() if stops else line
    return _is_open(last) or _is_first_letter(last, text, prompt)


def leads_nowhere(text: str) -> bool:
    """Checks whether a text ends with a colon, the head of a table, a heading or an empty code block.

    An outline consists of headings alone.
    """
    lines = [line for line in text[-_TAIL_CHARACTERS:].split("\n") if line.strip()]
    if not lines:
        return False
    if _LEADS_ON.search(lines[-1]) or _EMPTY_BLOCK.search(text[-_TAIL_CHARACTERS:]):
        return True
    if _TABLE_RULE.match(lines[-1]):
        return len(lines) > 1 and _TABLE_LINE.match(lines[-2]) is not None
    return _HEADING.match(lines[-1]) is not None and not all(map(_HEADING.match, lines))


def _is_open_block(text: str) -> bool:
    """Checks whether a code block never ends. Complete JSON may lack its closing fence."""
    return "```" in text and len(_FENCE.findall(text)) % 2 == 1 and not text.rstrip().endswith(("}", "]", "```"))


def _is_open_json(text: str) -> bool:
    """Checks whether a text starts as JSON whose brackets are never closed."""
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
    """Checks whether the last line is only the number of a list item."""
    *before, last = end.rsplit("\n", 2)
    return bool(before) and last.strip()[:-1].isdigit() and last.strip()[-1:] in ".)" and bool(_ITEM.match(before[-1]))


def _ends_in_comma(end: str) -> bool:
    """Checks for a comma at the end, except after the short greeting that ends a letter ("Best regards,")."""
    line = end[end.rfind("\n") + 1 :]
    return line.endswith(",") and (len(line.split()) > _LONGEST_GREETING or any(map(str.isdigit, line)))


def _ends_in_joint(end: str) -> bool:
    """Checks whether the last word is one that ends no sentence ("and", "of"), in a line of several words."""
    line = end[end.rfind("\n") + 1 :]
    if not _ends_in_letter(line) or not (language := language_of(end)):
        return False
    words = plain_words(line)
    return len(words) >= FEW and words[-1] in closed_words(language, "joints")[0] and line.endswith(words[-1])


def _is_open(sentence: str) -> bool:
    """Checks whether a bracket, a guillemet or bold text is opened and not closed."""
    return (
        len(_BRACKET_OPENS.findall(sentence)) > len(_BRACKET_CLOSES.findall(sentence))
        or sentence.count("\u00ab") != sentence.count("\u00bb")
        or sentence.count("**") % 2 == 1
    )


def _is_first_letter(sentence: str, text: str, prompt: str) -> bool:
    """Checks whether the last word is a letter that is not a word, unit or name. A capital may end a sentence."""
    *before, last = sentence.split() or [""]
    language = language_of(text[-_TAIL_CHARACTERS:])
    if len(last) != 1 or not language or language in UNSPACED:
        return False
    if before and (last.isupper() or before[-1][-1].isdigit()):
        return False
    letter = last.casefold()
    known = closed_words(language, "function", "joints", "common")[0]
    return letter not in known and plain_words(text).count(letter) == 1 and letter not in plain_words(prompt)


def _is_farewell(piece: str, stop: str) -> bool:
    """Checks for a short closing address after the last sentence, which people write without a full stop."""
    if len(piece) > FAREWELL:
        return False
    return _ADDRESS.search(piece) is not None or "!" in stop or "\uff01" in stop


def _is_long(piece: str) -> bool:
    return len(piece.split()) >= LONG


def _ends_in_letter(line: str) -> bool:
    """Checks for a letter or a vowel sign. The variation selector after an emoji is a mark too, but no letter."""
    return line[-1] != _SELECTOR and unicodedata.category(line[-1])[0] in "LM"


MAX_CHARACTERS = 20_000
"""Characters of an answer that are checked, counted from its end."""

_LOOP_TAIL = 1_600
_MAX_PERIOD = 400
_MIN_LOOP = 60
_MEAN_REPEATS = 3
"""How often each item of a looping list occurs in it on average."""
_LEAST_OFTEN, _OFTEN, _OFTEN_DENSE = 28, 8, 4
"""Characters and repetitions that make a short block a loop; fewer in scripts without spaces."""
_WORTH, _FRAME = 4, " \t\r\n.,;:!?-*\"'\u3002"
_TIMES = re.compile(
    r"\b(?:repeat|times|wiederhol|mal|fois|veces|vezes|volte|keer|raz[y]?|kez|kere|defa)|\u0440\u0430\u0437|\u6b21|\u904d|\u56de"
    r"|\u092c\u093e\u0930|\u0645\u0631",
    re.IGNORECASE,
)
_LIST_ITEM = re.compile(r"^[ \t]{0,8}(?:[-*+\u2022]|\d{1,3}[.)])[ \t]{1,4}(\S[^\n]{0,400}?)[ \t]*$", re.MULTILINE)
_WORD = re.compile(r"\w+")


def looping_tail(text: str, least: int = _MIN_LOOP) -> int:
    """Returns the length of a block that ends the text three times or more over `least` characters, or 0."""
    tail = text[-_LOOP_TAIL:].rstrip()
    if len(tail) < least:
        return 0
    end = tail[-(least * 2 // 3) :]  # in a triple repetition, this end also occurs one period earlier
    place = first = len(tail) - len(end)
    farthest = max(0, first - min(_MAX_PERIOD, len(tail) // 3))
    while (place := tail.rfind(end, farthest, place + len(end) - 1)) >= 0:
        period = first - place
        if tail.endswith(tail[-period:] * max(3, -(-least // period))):
            return period if _says_something(tail[-period:]) else 0
    return 0


def repeats(text: str, prompt: str = "") -> bool:
    """Checks whether a text ends in a repeated block or repeats the items of a list, without being asked to."""
    tail = f" {' '.join(text[-2 * _TAIL_CHARACTERS :].split())}"
    if period := looping_tail(tail) or _short_period(tail):
        block = tail[-period:].strip(_FRAME)
        return not is_wanted(block, prompt)
    return _lists_the_same(text, prompt)


def is_wanted(block: str, prompt: str) -> bool:
    """Checks whether the prompt has this block and says how often to repeat it."""
    return block.casefold() in prompt.casefold() and _TIMES.search(prompt) is not None


def _short_period(tail: str) -> int:
    """Returns the length of a short block repeated too often to be wordplay, or 0."""
    period = looping_tail(tail, _LEAST_OFTEN)
    often = _OFTEN_DENSE if period and not tail[-period:].isascii() else _OFTEN
    return period if period >= _WORTH and tail.endswith(tail[-period:] * often) else 0


def _lists_the_same(text: str, prompt: str) -> bool:
    """Checks whether list items repeat. Answers to a list of questions may rightly be alike."""
    items = [item.casefold().rstrip(".;,") for item in _LIST_ITEM.findall(text[-MAX_CHARACTERS:])]
    different = len(set(items))
    return 2 < len(items) >= _MEAN_REPEATS * different and not _LIST_ITEM.search(prompt)


def four_word_repetition(text: str, least: int = 16) -> float:
    """Returns the share of four-word runs that occurred before; 0 if there are fewer than `least` runs."""
    words = _WORD.findall(text[-MAX_CHARACTERS:].casefold())
    runs = len(words) - 3
    if runs < least:
        return 0.0
    return 1 - len(set(zip(words, words[1:], words[2:], words[3:], strict=False))) / runs


def _says_something(block: str) -> bool:
    """Checks for letters or digits. Lines of dashes or dots are drawn on purpose."""
    return any(character.isalnum() for character in block)
