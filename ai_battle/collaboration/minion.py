"""Minion: the local model reads a long document piece by piece and answers the large one, which never sees it."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ..core.client import ModelClient, run_together
from ..core.errors import ConfigError, ProviderError
from ..core.events import Emit, Warned, ignore
from ..core.exchange import ModelRequest, ModelResponse
from ..core.messages import assistant, user
from ..core.traits import CalledModel, StrategyTraits
from ._attempts import Strategy
from ._documents import (
    DECISION,
    FINDINGS,
    PieceFinding,
    SplitRequest,
    lead_decision,
    piece_findings,
    pieces,
    split_request,
)
from ._prompts import HelpCase, data_section, packaged_prompt, request_in_place, with_note
from ._turn import Helping, Turn
from ._wrappers import MutedClient

TRAITS = StrategyTraits(models={"secondary": CalledModel("for long documents, once in each round", "unknown")})
PIECE_CHARACTERS = 12_000
"""The usual length of a piece, in characters."""
MOST_PIECES = 64
AT_ONCE = 4
MOST_TOLD = 12
"""How many findings on one question the large model is shown."""
UNDECIDED = "its decision can't be read"


@dataclass(slots=True)
class ReadingSession:
    """One request: its documents in pieces, and the findings on each question so far."""

    turn: Turn
    request: ModelRequest
    split: SplitRequest
    pieces: Sequence[str]
    notes: list[str] = field(default_factory=list)

    @property
    def notes_section(self) -> str:
        return data_section("notes", "\n\n".join(self.notes))


class Minion(Strategy):
    """Lets `primary` read, and `secondary` ask and answer, in at most `max_loops` rounds; the last one has to decide.

    `primary` alone answers a request without a long text, or one that `secondary` fails to answer. Pieces have about
    `piece_characters`, or more if there would be more than 64 of them.
    """

    def __init__(
        self,
        primary: ModelClient,
        secondary: ModelClient,
        *,
        max_loops: int = 3,
        piece_characters: int = PIECE_CHARACTERS,
        helping: Helping | None = None,
    ) -> None:
        if max_loops < 2:
            problem = f"minion takes two rounds or more (max_loops), not {max_loops}: the last one only answers."
            raise ConfigError(problem, "max_loops")
        if piece_characters < 1:
            problem = f"piece_characters is the length of a piece, 1 or more, not {piece_characters!r}."
            raise ConfigError(problem, "piece_characters")
        super().__init__(primary, secondary, helping=helping)
        self.secondary = secondary
        self.rounds = max_loops
        self.piece_characters = piece_characters

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        turn = Turn("minion", self.helping, emit)
        split = split_request(request)
        if not split.documents:
            return await turn.accept(await turn.request_draft(self.primary, request))
        self.require_primary()  # only it reads the documents
        size = max(self.piece_characters, 2 * split.characters // MOST_PIECES)
        session = ReadingSession(turn, request, split, [p for text in split.documents for p in pieces(text, size)])
        return await self._answer_led(session) or await self._answer_alone(session)

    async def _answer_led(self, session: ReadingSession) -> ModelResponse | None:
        """Returns the large model's answer, or None if it has none."""
        for number in range(1, self.rounds + 1):
            draft = await session.turn.ask(self.secondary, self._round(session, number), "a document is to be read")
            if not draft:
                return None
            decision = lead_decision(draft.text, last=number == self.rounds)
            if decision.kind in ("answer", "abstain"):
                response = replace(draft.response, message=assistant(decision.text))
                return await session.turn.accept(replace(draft, response=response))
            if decision.kind == "ask":
                await self._search(session, decision.questions)
        await session.turn.report_failure(UNDECIDED)
        return None

    def _round(self, session: ReadingSession, number: int) -> ModelRequest:
        note = packaged_prompt(
            "minion_round",
            characters=f"{session.split.characters:,}",
            pieces=str(len(session.pieces)),
            round=str(number),
            rounds=str(self.rounds),
            urge="It is the last one: answer or abstain, no more questions." if number == self.rounds else "",
            notes=session.notes_section,
        )
        request = request_in_place(HelpCase(session.split.question), self.helping.sees)
        system = "\n\n".join(
            filter(None, (packaged_prompt("minion_lead"), data_section("instructions", request.system)))
        )
        request = replace(request, system=system, tools=(), tool_choice="auto", output_schema=DECISION, options={})
        return with_note(request, note)

    async def _search(self, session: ReadingSession, questions: Sequence[str]) -> None:
        """Asks all questions about each piece, and notes the findings."""
        replies = await self._replies(session, questions)
        read = [
            (place, finding)
            for place, (reply, piece) in enumerate(zip(replies, session.pieces, strict=True), 1)
            for finding in piece_findings(reply, piece, questions)
        ]
        for number, question in enumerate(questions):
            session.notes.append(_note(question, [each for each in read if each[1].question == number]))

    async def _replies(self, session: ReadingSession, questions: Sequence[str]) -> list[str]:
        """Returns the reply about each piece, empty if the piece could not be read; listeners get a warning."""
        gate = asyncio.Semaphore(AT_ONCE)
        replies = await run_together(*(self._read(session, gate, piece, questions) for piece in session.pieces))
        errors = [reply for reply in replies if isinstance(reply, ProviderError)]
        if len(errors) == len(replies):
            raise errors[0]
        if errors:
            await session.turn.emit(Warned(f"{len(errors)} of {len(replies)} pieces were not read: {errors[0]}"))
        return [reply if isinstance(reply, str) else "" for reply in replies]

    async def _read(
        self, session: ReadingSession, gate: asyncio.Semaphore, piece: str, questions: Sequence[str]
    ) -> str | ProviderError:
        listed = "\n".join(f"{number}. {question}" for number, question in enumerate(questions, 1))
        message = user(packaged_prompt("minion_reading", piece=data_section("piece", piece), questions=listed))
        request = ModelRequest((message,), output_schema=FINDINGS, wants=session.request.wants)
        async with gate:
            try:
                return (await session.turn.request_draft(MutedClient(self.primary), request)).text
            except ProviderError as error:
                return error

    async def _answer_alone(self, session: ReadingSession) -> ModelResponse:
        """Lets the local model answer from the notes or, if nothing was asked, from the whole request."""
        request = session.request
        if session.notes:
            request = with_note(session.split.question, packaged_prompt("minion_alone", notes=session.notes_section))
        return await session.turn.accept(await session.turn.request_draft(self.primary, request))


def _note(question: str, findings: Sequence[tuple[int, PieceFinding]]) -> str:
    """Lists the findings on a question by piece, certain ones first: those whose quote occurs in the piece.

    If there are many, the rest are only counted.
    """
    certain_first = sorted(findings, key=lambda each: not each[1].quoted)
    lines = [
        f"- piece {place}: {finding.answer}" + (f' ("{finding.quote}")' if finding.quoted else " (without a quote)")
        for place, finding in certain_first[:MOST_TOLD]
    ]
    if len(certain_first) > MOST_TOLD:
        lines.append(f"- {len(certain_first) - MOST_TOLD} more findings are left out")
    return "\n".join((f"Question: {question}", *(lines or ["- no piece answers it"])))


create = Minion
