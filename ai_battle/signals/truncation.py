"""Text that stops in the middle, and text that ends where something was to come."""

import re
import unicodedata

from .languages import UNSPACED, closed_words, language_of, spoken

_OPENS = re.compile(r"(?:(?<![:;=8-])[(\[{\uff08]|(?<=[\w)\]] )[=+]|(?<=[\w)\]])[=+]|(?<=\w)[\uff0c\u3001\u060c])$")
_JSON_BEGINS = re.compile(
    r'\s{0,99}(?:\{\s{0,99}(?:"|$)|\[\s{0,99}(?:["{\[]|-?\d+(?:\.\d+)?\s{0,9}(?:,|$)|(?:true|false|null)\b|$))'
)
_STRUCTURE = re.compile(r'[\[\]{}]|"(?:[^"\\]|\\.)*"?')
_FENCE = re.compile(r"^[ \t>]{0,9}(?:[-*] )?(?:```|~~~)", re.MULTILINE)
_STOP_INSIDE = re.compile(
    r"[^\W_][)\"'\u201d\u00bb*_]{0,3}[.!?\u061f][)\"'\u201d\u00bb*_]{0,3}\s|[\u3002\uff01\uff1f\u0964]"
)
_STOP_AT_END = re.compile(r"[.!?\u2026\u3002\uff01\uff1f\u0964\u061f][)\"'\u201d\u00bb\u300d*_]{0,3}$")
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
        ends = [_STOP_AT_END.search(line) is not None for line in before if _ITEM.match(line)]
        return len(ends) > 1 and all(ends)
    if stops := list(_STOP_INSIDE.finditer(last)):
        return not _is_farewell(last[stops[-1].end() :].strip(), stops[-1].group())
    return bool(before) and _is_long(last) and (_STOP_AT_END.search(before[-1]) is not None or before[-1].endswith(","))


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
    words = spoken(line)
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
    words, language = spoken(sentence), language_of(text[-_TAIL:])
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
    return letter not in known and spoken(text).count(letter) == 1 and letter not in spoken(prompt)


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
