"""Long texts of a request, taken apart from what is asked about them, and cut into pieces."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ..core.exchange import ModelRequest
from ..core.messages import Document, Message, Part, Text

LONG = 6_000
LONGEST_QUESTION = 2_000
FILE = Text("[a file, not shown]")
_PARAGRAPH = re.compile(r"\n[ \t]*\n")
_BREAKS = ("\n\n", "\n", ". ", " ")


@dataclass(frozen=True, slots=True)
class Reading:
    """`documents` are the long texts; `asked` is the request with a note in the place of each."""

    documents: tuple[str, ...]
    asked: ModelRequest

    @property
    def characters(self) -> int:
        return sum(map(len, self.documents))


def taken_apart(request: ModelRequest) -> Reading:
    """Texts of more than `LONG` characters are documents; files that are no text are left out of `asked`.

    Where a document and the question about it are one text, its last paragraph is the question when it is short
    enough; else its first one, when it ends like a question.
    """
    documents: list[str] = []
    last = max((n for n, message in enumerate(request.messages) if message.role == "user"), default=-1)
    messages = []
    for n, message in enumerate(request.messages):
        with_question = n == last and _says_nothing_else(message)
        parts = (_shown(part, documents, with_question) for part in message.parts)
        messages.append(replace(message, parts=tuple(part for several in parts for part in several)))
    return Reading(tuple(documents), replace(request, messages=tuple(messages)))


def pieces(document: str, characters: int, overlap: int = 200) -> Iterator[str]:
    """The document in pieces of at most `characters`, cut where a paragraph, line, sentence or word ends.

    Each begins a little before the end of the one before it, so that nothing is cut in two in both; of short pieces
    that is an eighth, so that they come to an end.
    """
    start, overlap = 0, min(overlap, characters // 8)
    while len(document) - start > characters:
        end = _break(document, start + characters // 2, start + characters)
        yield document[start:end]
        start = max(end - overlap, start + 1)
    yield document[start:]


def _shown(part: Part, documents: list[str], with_question: bool) -> tuple[Part, ...]:
    """What is left of a part; its document is put to the others."""
    if isinstance(part, Document):
        return (FILE,)
    if not isinstance(part, Text) or len(part.text) <= LONG:
        return (part,)
    question, document = _question(part.text) if with_question else ("", part.text)
    documents.append(document)
    note = Text(f"[document {len(documents)}: {len(document):,} characters, not shown]")
    return (note, Text(f"\n\n{question}")) if question else (note,)


def _question(text: str) -> tuple[str, str]:
    """The question and the rest; no question where no paragraph can be one."""
    *before, last = _PARAGRAPH.split(text.strip())
    if before and len(last) <= LONGEST_QUESTION:
        return last, text[: text.rindex(last)]
    first = before[0] if before else ""
    if first.rstrip().endswith(("?", ":", ".")) and len(first) <= LONGEST_QUESTION:
        return first, text[text.index(first) + len(first) :]
    return "", text


def _says_nothing_else(message: Message) -> bool:
    """Whether a message has no words beside its long texts."""
    return not any(isinstance(part, Text) and len(part.text) <= LONG and part.text.strip() for part in message.parts)


def _break(text: str, least: int, most: int) -> int:
    for mark in _BREAKS:
        if (place := text.rfind(mark, least, most)) >= 0:
            return place + len(mark)
    return most
