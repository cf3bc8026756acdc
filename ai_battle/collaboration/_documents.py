"""Splits long texts from the question about them, cuts them into pieces, and parses what was read in a piece."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ..core.exchange import ModelRequest, object_schema
from ..core.messages import Document, Message, Part, Text
from ..wire.dialects.loose_json import Unreadable, read_value

DOCUMENT_LENGTH = 6_000
LONGEST_QUESTION = 2_000
LONGEST_REPLY = 50_000
LONGEST_ANSWER = 2_000
MOST_QUESTIONS = 5
FILE = Text("[a file, not shown]")
NOT_SAID = "The document does not say."
_PARAGRAPH = re.compile(r"\n[ \t]*\n")
_BREAKS = ("\n\n", "\n", ". ", " ")
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
_FINDING = object_schema({"question": {"type": "integer"}, "answer": _TEXT, "quote": _TEXT})
FINDINGS = object_schema({"findings": {"type": "array", "items": _FINDING}})


@dataclass(frozen=True, slots=True)
class SplitRequest:
    """A request split into `documents`, its long texts, and `question`, which has a note in place of each."""

    documents: tuple[str, ...]
    question: ModelRequest

    @property
    def characters(self) -> int:
        return sum(map(len, self.documents))


@dataclass(frozen=True, slots=True)
class LeadDecision:
    """The next step of the model that can't see the document; `questions` go to the reading model."""

    kind: Literal["ask", "answer", "abstain", "unclear"]
    questions: tuple[str, ...] = ()
    text: str = ""


@dataclass(frozen=True, slots=True)
class PieceFinding:
    """A piece's answer to a question (counted from 0); `quoted` is true if the quote does occur in the piece."""

    question: int
    answer: str
    quote: str = ""
    quoted: bool = False


def split_request(request: ModelRequest) -> SplitRequest:
    """Takes texts of more than `DOCUMENT_LENGTH` characters out of the request, and drops files that are not text.

    If a document and its question are one text, the question is the last paragraph if it is short enough, else the
    first if it ends like a question.
    """
    documents: list[str] = []
    last = max((n for n, message in enumerate(request.messages) if message.role == "user"), default=-1)
    messages = []
    for n, message in enumerate(request.messages):
        has_question = n == last and _has_only_long_texts(message)
        parts = (_question_parts(part, documents, has_question) for part in message.parts)
        messages.append(replace(message, parts=tuple(part for several in parts for part in several)))
    return SplitRequest(tuple(documents), replace(request, messages=tuple(messages)))


def pieces(document: str, characters: int, overlap: int = 200) -> Iterator[str]:
    """Cuts the document into pieces of at most `characters`, at ends of paragraphs, lines, sentences or words.

    Pieces overlap, so that what is cut in one is whole in the other. The overlap is at most an eighth of a piece, so
    that short pieces still make progress.
    """
    start, overlap = 0, min(overlap, characters // 8)
    while len(document) - start > characters:
        end = _break(document, start + characters // 2, start + characters)
        yield document[start:end]
        start = max(end - overlap, start + 1)
    yield document[start:]


def lead_decision(reply: str, *, last: bool) -> LeadDecision:
    """Returns what a reply decides. In the last round any text is an answer, and questions are ignored."""
    decision = json_object(reply)
    text = _words(decision.get("answer"))
    questions = tuple(filter(None, map(_words, _list(decision.get("questions")))))[:MOST_QUESTIONS]
    kind = _words(decision.get("decision")).casefold()
    if kind == "abstain":
        return LeadDecision("abstain", text=text or NOT_SAID)
    if questions and not last and kind != "answer":
        return LeadDecision("ask", questions)
    if text:
        return LeadDecision("answer", text=text)
    if last and not decision and reply.strip():
        return LeadDecision("answer", text=reply.strip())
    return LeadDecision("unclear")


def piece_findings(reply: str, piece: str, questions: Sequence[str]) -> Iterator[PieceFinding]:
    """Yields a reader's findings in its piece, without questions that it left open."""
    for each in _list(json_object(reply).get("findings")):
        if not isinstance(each, Mapping):
            continue
        number, answer, quote = each.get("question"), _words(each.get("answer")), _words(each.get("quote"))
        if isinstance(number, int) and 0 < number <= len(questions) and answer:
            quoted = bool(quote) and _plain_words(quote) in _plain_words(piece)
            yield PieceFinding(number - 1, answer[:LONGEST_ANSWER], quote[:LONGEST_ANSWER], quoted)


def _question_parts(part: Part, documents: list[str], has_question: bool) -> tuple[Part, ...]:
    """Returns a part without its document, which is added to `documents`."""
    if isinstance(part, Document):
        return (FILE,)
    if not isinstance(part, Text) or len(part.text) <= DOCUMENT_LENGTH:
        return (part,)
    question, document = _question(part.text) if has_question else ("", part.text)
    documents.append(document)
    note = Text(f"[document {len(documents)}: {len(document):,} characters, not shown]")
    return (note, Text(f"\n\n{question}")) if question else (note,)


def _question(text: str) -> tuple[str, str]:
    """Returns the question and the rest; the question is empty if no paragraph can be one."""
    *before, last = _PARAGRAPH.split(text.strip())
    if before and len(last) <= LONGEST_QUESTION:
        return last, text[: text.rindex(last)]
    first = before[0] if before else ""
    if first.rstrip().endswith(("?", ":", ".")) and len(first) <= LONGEST_QUESTION:
        return first, text[text.index(first) + len(first) :]
    return "", text


def _has_only_long_texts(message: Message) -> bool:
    return not any(
        isinstance(part, Text) and len(part.text) <= DOCUMENT_LENGTH and part.text.strip() for part in message.parts
    )


def _break(text: str, least: int, most: int) -> int:
    for mark in _BREAKS:
        if (place := text.rfind(mark, least, most)) >= 0:
            return place + len(mark)
    return most


def json_object(reply: str) -> Mapping[str, Any]:
    start = reply.find("{", 0, LONGEST_REPLY)
    if start < 0:
        return {}
    try:
        value, _ = read_value(reply[:LONGEST_REPLY], start)
    except Unreadable:
        return {}
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    if isinstance(value, str):
        return [value]
    return value if isinstance(value, list) else []


def _words(value: Any) -> str:
    is_plain = isinstance(value, str | int | float) and not isinstance(value, bool)
    return str(value).strip() if is_plain else ""


def _plain_words(text: str) -> str:
    return " ".join(text.casefold().split())
