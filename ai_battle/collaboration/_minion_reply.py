"""What a model that can't see the document decides, and what one that reads a piece of it found: JSON, read loosely."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..wire.dialects.loose_json import Unreadable, read_value

MOST_QUESTIONS = 5
LONGEST = 50_000
LONGEST_ANSWER = 2_000
NOT_SAID = "The document does not say."
_TEXT: Mapping[str, Any] = {"type": "string"}
DECISION: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "decision": {"enum": ["ask", "answer", "abstain"]},
        "questions": {"type": "array", "items": _TEXT},
        "answer": _TEXT,
    },
    "required": ["decision"],
}
FINDINGS: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "findings": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"question": {"type": "integer"}, "answer": _TEXT, "quote": _TEXT},
                "required": ["question", "answer", "quote"],
            },
        }
    },
    "required": ["findings"],
}


@dataclass(frozen=True, slots=True)
class Decision:
    """`text` is the answer; `questions` are to be put to those who read."""

    kind: Literal["ask", "answer", "abstain", "unclear"]
    questions: tuple[str, ...] = ()
    text: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a piece says to a question (counted from 0); `quoted`: the quote that shows it does stand there."""

    question: int
    answer: str
    quote: str = ""
    quoted: bool = False


def decided(reply: str, *, last: bool) -> Decision:
    """What a reply decides. In the last round any text is an answer; asking on is none."""
    said = _object(reply)
    text = _words(said.get("answer"))
    questions = tuple(filter(None, map(_words, _list(said.get("questions")))))[:MOST_QUESTIONS]
    kind = _words(said.get("decision")).casefold()
    if kind == "abstain":
        return Decision("abstain", text=text or NOT_SAID)
    if questions and not last and kind != "answer":
        return Decision("ask", questions)
    if text:
        return Decision("answer", text=text)
    if last and not said and reply.strip():
        return Decision("answer", text=reply.strip())
    return Decision("unclear")


def found(reply: str, piece: str, questions: Sequence[str]) -> Iterator[Finding]:
    """What a reader found in its piece; what it left open is left out."""
    for each in _list(_object(reply).get("findings")):
        if not isinstance(each, Mapping):
            continue
        number, answer, quote = each.get("question"), _words(each.get("answer")), _words(each.get("quote"))
        if isinstance(number, int) and 0 < number <= len(questions) and answer:
            yield Finding(number - 1, answer[:LONGEST_ANSWER], quote[:LONGEST_ANSWER], _stands_in(quote, piece))


def _object(reply: str) -> Mapping[str, Any]:
    start = reply.find("{", 0, LONGEST)
    if start < 0:
        return {}
    try:
        value, _ = read_value(reply[:LONGEST], start)
    except Unreadable:
        return {}
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    if isinstance(value, str):
        return [value]
    return value if isinstance(value, list) else []


def _words(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return ""
    return str(value).strip() if isinstance(value, str | int | float) else ""


def _stands_in(quote: str, piece: str) -> bool:
    words = " ".join(quote.casefold().split())
    return bool(words) and words in " ".join(piece.casefold().split())
