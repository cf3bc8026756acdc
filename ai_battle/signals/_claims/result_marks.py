"""Where a text takes the form of a tool's answer: in tags, fences, brackets, under a label, behind a call."""
# ruff: noqa: E501

import re

from .tool_words import Toolbox

_LABEL = r"(?:outputs?|results?|response|observation|ausgabe|ergebnis|résultat|sortie|salida|resultado|输出|结果)"
_OF_A_TOOL = (
    r"(?:tool|function|query|search|command|execution|script|api|calculator|program|database|sql|stdout|console)"
)
_MARK = re.compile(
    r"<(?:tool_(?:response|result|output)s?|function_(?:results?|responses?|outputs?)|observation)\b[^<>\n]*>"
    r"|^[ \t]*```[ \t]*(?:tool|function|code)[_-]?(?:outputs?|responses?|results?)\b"
    rf"|^[ \t]*\[(?:the )?(?:{_OF_A_TOOL} )?{_LABEL}s?(?:: ?\S|\][ \t:]*\n?[^\s\[(])"
    rf"|^\W{{0,6}}{_OF_A_TOOL}[ _-]{_LABEL}\W{{0,4}}:\W{{0,6}}[^\s:]"
    r"|^\W{0,4}\{[^{}\n]{0,80}\"(?:tool|tool_name|name|function)\" ?: ?\"[^\"\n]{1,80}\"[^\n]{0,80}\"(?:result|output|response)\" ?:(?! ?\{ ?\"type)",
    re.IGNORECASE | re.MULTILINE,
)
_OBSERVED = re.compile(r"^Action\b[^\n]*\n(?:[^\n]*\n){0,8}?\W{0,4}Observation:[^\n]*\S", re.IGNORECASE | re.MULTILINE)
_LABELLED = re.compile(
    rf"^\W{{0,4}}(?:(?:{_OF_A_TOOL} )?{_LABEL}|it (?:prints|printed|outputs)[^\n:]{{0,20}})\W{{0,4}}[:\uff1a]|^[ \t]*```[ \t]*outputs?\b"
    rf"|^\W{{0,4}}{_LABEL}\W{{0,4}}\n\s{{0,4}}```",
    re.IGNORECASE | re.MULTILINE,
)
_BEGUN = re.compile(
    r"\b(?:let me (?:just |quickly )?|i'll (?:now )?|i will (?:now )?|i'm going to |now )(?:run|execute|query|search|check|call|test|look|use|calculate|fetch)\b"
    r"|\b(?:running|executing|searching|querying) (?:it|this|that|the|now)\b|\b(?:ran|executed|executing) (?:it|this)\b"
    r"|\b(?:ich führe|lass mich|je lance|voy a ejecutar)\b|(?:让我|我来)",
    re.IGNORECASE,
)
# Stage directions, and work that is said to go on while the text goes on to its result.
_ACTED = re.compile(
    r"^\W?[*\[(](?:\w+ly )?(?:runs?|running|checks?|checking|searche?s?|searching|quer(?:ies|ying)|opens?|opening|execut(?:es|ing)|rolls?|rolling|reads?|reading"
    r"|calls?|calling|looks?|looking|us(?:es|ing)|fetch(?:es|ing))\b[^*\])\n]{0,60}[*\])](?=\s*[^\s*\[(][^\n]{9})"
    r"|^(?:searching|running|executing|querying|fetching|checking|calling|looking up)\b[^.…\n]{0,60}(?:\.\.\.|…)(?=\s*\S[\s\S]{9})"
    r"|\b(?:let me|i'll|i will) [^.…\n]{1,60}(?:\.\.\.|…)\s{0,4}(?:done|finished|okay|ok|got it)\b",
    re.IGNORECASE | re.MULTILINE,
)
_STATEMENT = re.compile(r"\bselect\b[^;]{1,200}\bfrom\b", re.IGNORECASE)
_IMAGINED = re.compile(
    r"\b(?:examples?|expect\w*|should|would|could|might|may|will|looks? like|similar|sample|e\.g|template|mock|hypothetical\w*|suppose"
    r"|imagin\w+|typical\w*|format|if|shows? how|beispiel\w*|würde|par exemple|exemple|ejemplo)\b|例如|比如",
    re.IGNORECASE,
)


def mark_in(text: str, box: Toolbox) -> str:
    """The first result that nobody imagined aloud, with the lines behind it; empty when there is none."""
    marks = [_MARK.finditer(text), _OBSERVED.finditer(text), _ACTED.finditer(text)]
    if (begun := _BEGUN.search(text)) or ("database" in box.kinds and (begun := _STATEMENT.search(text))):
        marks.append(_LABELLED.finditer(text, begun.end()))
    if box.names:
        marks.append(_returned_by(box).finditer(text))
    if box.own:
        marks.append(_read_from(box).finditer(text))
    return next((_lines(text, at.start()) for found in marks for at in found if not _is_imagined(text, at)), "")


def _returned_by(box: Toolbox) -> re.Pattern[str]:
    names = "|".join(map(re.escape, sorted(box.names)))
    return re.compile(rf"\b(?:{names})\b`?\([^()\n]{{0,200}}\)`? ?(?:→|->|=>|⇒|returned\b|= ?\S)", re.IGNORECASE)


def _read_from(box: Toolbox) -> re.Pattern[str]:
    own = "|".join(map(re.escape, sorted(box.own)))
    return re.compile(
        rf"^\W{{0,4}}(?:{own})\w{{0,4}} (?:reading|{_LABEL}|roll|value)s?\W{{0,4}}: ?\S", re.IGNORECASE | re.MULTILINE
    )


def _is_imagined(text: str, mark: re.Match[str]) -> bool:
    """Whether the words that lead to it call it an example, or what would come."""
    lead = text[max(0, mark.start() - 400) : mark.start()].rstrip("`\n ")
    return _IMAGINED.search(lead.rpartition("\n")[2]) is not None or _IMAGINED.search(mark.group()) is not None


def _lines(text: str, start: int) -> str:
    return " ".join(" ".join(text[start : start + 400].strip().splitlines()[:3]).split())
