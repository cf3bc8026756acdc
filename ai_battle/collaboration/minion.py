"""Minion: the local model reads a long document piece by piece and answers the large one, which never sees it."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ..core.client import ModelClient
from ..core.errors import ConfigError, ProviderError
from ..core.events import Emit, Warned, ignore
from ..core.exchange import ModelRequest, ModelResponse
from ..core.messages import assistant, user
from ._documents import Reading, pieces, taken_apart
from ._helping import Helping, Turn
from ._minion_reply import DECISION, FINDINGS, Finding, decided, found
from ._prompts import filled, marked
from ._seeing import with_note
from ._together import Quiet, together

MEASURED = ""
PIECE = 12_000
"""Characters."""
MOST_PIECES = 64
AT_ONCE = 4
MOST_TOLD = 12
"""Findings of one question."""
UNDECIDED = "it decided nothing that can be read"


@dataclass(frozen=True, slots=True)
class Read:
    """What was found on a question, piece by piece."""

    question: str
    findings: tuple[tuple[int, Finding], ...]


@dataclass(slots=True)
class Session:
    """One request: its documents in pieces, and what was read in them so far."""

    turn: Turn
    request: ModelRequest
    reading: Reading
    pieces: Sequence[str]
    notes: list[Read] = field(default_factory=list)

    @property
    def told(self) -> str:
        return marked("notes", "\n\n".join(map(_told, self.notes)))


class Minion(ModelClient):
    """`primary` reads, `secondary` asks and answers, in `rounds` rounds at most; the last one has to decide.

    A request without a long text is answered by `primary` alone, and so is one that `secondary` fails to answer. A
    document is read in pieces of about `piece_characters`, in larger ones when there would be more than 64.
    """

    def __init__(
        self,
        primary: ModelClient,
        secondary: ModelClient,
        rounds: int = 3,
        piece_characters: int = PIECE,
        helping: Helping | None = None,
    ) -> None:
        if rounds < 2:
            raise ConfigError(
                f"minion takes two rounds or more (max_loops), not {rounds}: the last one only answers.", "max_loops"
            )
        if piece_characters < 1:
            said = f"piece_characters is the length of a piece, 1 or more, not {piece_characters!r}."
            raise ConfigError(said, "piece_characters")
        self.primary = primary
        self.secondary = secondary
        self.rounds = rounds
        self.piece_characters = piece_characters
        self.helping = helping or Helping()

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        turn = Turn("minion", self.helping, emit)
        reading = taken_apart(request)
        if not reading.documents:
            return await turn.accept(await turn.draft(self.primary, request))
        size = max(self.piece_characters, 2 * reading.characters // MOST_PIECES)
        session = Session(turn, request, reading, [p for text in reading.documents for p in pieces(text, size)])
        return await self._led(session) or await self._alone(session)

    async def aclose(self) -> None:
        await self.primary.aclose()
        await self.secondary.aclose()

    async def _led(self, session: Session) -> ModelResponse | None:
        """The answer of the large model; None when it brings none."""
        for number in range(1, self.rounds + 1):
            draft = await session.turn.ask(self.secondary, self._round(session, number), "a document is to be read")
            if not draft:
                return None
            decision = decided(draft.text, last=number == self.rounds)
            if decision.kind in ("answer", "abstain"):
                response = replace(draft.response, message=assistant(decision.text))
                return await session.turn.accept(replace(draft, response=response))
            if decision.kind == "ask":
                await self._search(session, decision.questions)
        await session.turn.failed(UNDECIDED)
        return None

    def _round(self, session: Session, number: int) -> ModelRequest:
        last = number == self.rounds
        urge = "It is the last one: answer or abstain, no more questions." if last else ""
        note = filled(
            "minion_round",
            characters=f"{session.reading.characters:,}",
            pieces=str(len(session.pieces)),
            round=str(number),
            rounds=str(self.rounds),
            urge=urge,
            notes=session.told,
        )
        asked = _within(session.reading.asked, self.helping)
        system = "\n\n".join(filter(None, (filled("minion_lead"), marked("instructions", asked.system))))
        asked = replace(asked, system=system, tools=(), tool_choice="auto", output_schema=DECISION, options={})
        return with_note(asked, note)

    async def _search(self, session: Session, questions: Sequence[str]) -> None:
        """Puts the questions to each piece, and notes what it says."""
        replies = await self._replies(session, questions)
        read = [
            (place, finding)
            for place, (reply, piece) in enumerate(zip(replies, session.pieces, strict=True), 1)
            for finding in found(reply, piece, questions)
        ]
        session.notes += [_of(question, number, read) for number, question in enumerate(questions)]

    async def _replies(self, session: Session, questions: Sequence[str]) -> list[str]:
        """That of each piece, empty for those that could not be read, which is told."""
        gate = asyncio.Semaphore(AT_ONCE)
        replies = await together(*(self._read(session, gate, piece, questions) for piece in session.pieces))
        errors = [reply for reply in replies if isinstance(reply, ProviderError)]
        if len(errors) == len(replies):
            raise errors[0]
        if errors:
            await session.turn.emit(Warned(f"{len(errors)} of {len(replies)} pieces were not read: {errors[0]}"))
        return [reply if isinstance(reply, str) else "" for reply in replies]

    async def _read(
        self, session: Session, gate: asyncio.Semaphore, piece: str, questions: Sequence[str]
    ) -> str | ProviderError:
        listed = "\n".join(f"{number}. {question}" for number, question in enumerate(questions, 1))
        asked = user(filled("minion_read", piece=marked("piece", piece), questions=listed))
        request = ModelRequest((asked,), output_schema=FINDINGS, wants=session.request.wants)
        async with gate:
            try:
                draft = await session.turn.draft(Quiet(self.primary), request)
            except ProviderError as error:
                return error
        return draft.text

    async def _alone(self, session: Session) -> ModelResponse:
        """The local model answers from what was found; when nothing was asked, from the request as it came."""
        request = session.request
        if session.notes:
            request = with_note(session.reading.asked, filled("minion_alone", notes=session.told))
        return await session.turn.accept(await session.turn.draft(self.primary, request))


def _within(asked: ModelRequest, helping: Helping) -> ModelRequest:
    """What the large model may see of it: without the history, the prompt alone."""
    if helping.sees == "history":
        return asked
    last = max((n for n, message in enumerate(asked.messages) if message.role == "user"), default=0)
    return replace(asked, messages=asked.messages[last : last + 1], system="", extra={})


def _of(question: str, number: int, read: Sequence[tuple[int, Finding]]) -> Read:
    return Read(question, tuple(each for each in read if each[1].question == number))


def _told(read: Read) -> str:
    """What is certain first: where the quote stands in the piece. Of many findings the others are only counted."""
    found_there = sorted(read.findings, key=lambda each: not each[1].quoted)
    lines = [
        f"- piece {place}: {finding.answer}" + (f' ("{finding.quote}")' if finding.quoted else " (without a quote)")
        for place, finding in found_there[:MOST_TOLD]
    ]
    if len(found_there) > MOST_TOLD:
        lines.append(f"- {len(found_there) - MOST_TOLD} more findings are left out")
    return "\n".join((f"Question: {read.question}", *(lines or ["- no piece answers it"])))


def create(
    primary: ModelClient,
    secondary: ModelClient,
    *,
    max_loops: int = 3,
    piece_characters: int = PIECE,
    helping: Helping | None = None,
) -> ModelClient:
    return Minion(primary, secondary, max_loops, piece_characters, helping)
