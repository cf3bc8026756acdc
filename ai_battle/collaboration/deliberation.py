"""Deliberation: models answer, rank each other's answers without names, and a chair makes one answer of them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from time import monotonic
from typing import Any

from ..core.client import ModelClient, run_together
from ..core.errors import BadReply, BudgetExceeded, ConfigError, ProviderError
from ..core.events import Emit, Warned, ignore
from ..core.exchange import ModelRequest, ModelResponse
from ..core.helping import AnswersMerged, AnswersRanked
from ..core.ledger import Budget, charge_to
from ..core.messages import assistant
from ..core.traits import CalledModel, StrategyTraits
from ..wire.dialects.thinking import without_thought
from ._attempts import Strategy, find_form_problem
from ._checks import OTHER_ANSWER_REASON
from ._prompts import HelpCase, bounded_text, excerpt, labelled_answers, packaged_prompt, request_in_place, with_note
from ._ranking import (
    LABELS,
    SCHEMA,
    ChairNote,
    ChairReader,
    Ranking,
    Standing,
    pool,
    read_ranking,
    reading_order,
    split_answer,
)
from ._turn import Draft, Helping, Turn, consultation_event, why_unusable
from ._wrappers import AnswerStream, MutedClient, StreamedReply

MAX_MEMBERS = 12
"""The most members; each reads the answers of all others."""
MOST_SHOWN = 48_000
"""How many characters of all answers together one reader is shown."""
NAME = "deliberation"
UNMENTIONED = (
    "(An answer that a member ranked first is left out here, and the chair did not say why; the ranking has it.)"
)
TRAITS = StrategyTraits(
    models={
        "primary": CalledModel("to rank the answers", "each turn", "judge"),
        "peers": CalledModel("to answer and to rank", "each turn", "peer", calls=2),
        "secondary": CalledModel("to make one answer of all", "each turn", "chair"),
    },
    same_twice=True,
)


@dataclass(slots=True)
class Member:
    """A model that answers and ranks. `number` counts from 1; `budget` books all its calls, failed ones included."""

    number: int
    client: ModelClient
    budget: Budget = field(default_factory=Budget)
    seconds: float = 0.0

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Charges the calls made inside to this member."""
        started = monotonic()
        try:
            with charge_to(self.budget):
                yield
        finally:
            self.seconds += monotonic() - started


class Deliberation(Strategy):
    """Lets `primary` and `peers` answer concurrently and rank; `secondary`, or the first that answered, is the chair.

    Nobody ranks their own answer unless `ranks_own`, so the chair reads two answers unranked. A single answer is served
    unchanged.
    """

    def __init__(
        self,
        primary: ModelClient,
        secondary: ModelClient | None = None,
        *,
        peers: Sequence[ModelClient] = (),
        ranks_own: bool = False,
        helping: Helping | None = None,
    ) -> None:
        super().__init__(primary, *peers, secondary, helping=helping)
        if not 1 <= len(peers) < MAX_MEMBERS:
            problem = f"deliberation takes 1 to {MAX_MEMBERS - 1} models in 'peers' beside the first, not {len(peers)}"
            raise ConfigError(f"{problem}: they rank each other's answers.", "peers")
        if self.helping.sees == "prompt":
            raise ConfigError("Members read each other's answers: helper_sees is attempt or history.", "helper_sees")
        self.peers = tuple(peers)
        self.chair = secondary
        self.ranks_own = ranks_own

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        members = [Member(number, client) for number, client in enumerate((self.primary, *self.peers), 1)]
        session = DeliberationSession(Turn(NAME, self.helping, emit), request, members)
        await session.collect_answers()
        standings = await session.rank(ranks_own=self.ranks_own)
        chair = self.chair or session.members[next(iter(session.answers))].client
        best = standings[0].number
        response = await session.edit(chair, standings) if session.can_edit(best) else None
        return response or await session.serve(best)


class DeliberationSession:
    """One request: its members and their answers, both by number, and who failed to contribute."""

    def __init__(self, turn: Turn, request: ModelRequest, members: Sequence[Member]) -> None:
        self.turn = turn
        self.request = request
        self.members = {member.number: member for member in members}
        self.answers: dict[int, Draft] = {}
        self._labels: dict[int, str] = {}
        self._seed = ""
        self._missing: list[str] = []
        self._error: ProviderError | BudgetExceeded | None = None

    async def collect_answers(self) -> None:
        """Asks all members concurrently. If nobody answers, it raises the first member's error."""
        drafts = await run_together(*map(self._answer, self.members.values()))
        answers = {number: draft for number, draft in zip(self.members, drafts, strict=True) if draft}
        self.answers = await self._well_formed(answers) or answers
        if not self.answers:
            raise self._error or BadReply(f"None of the {len(self.members)} models answered.")
        texts = "\0".join(bounded_text(draft.response.message) for draft in self.answers.values())
        # Derive the seed from the answers, so that a resumed or replayed run shuffles them in the same way.
        self._seed = sha256(texts.encode("utf-8", "replace")).hexdigest()[:8]
        self._labels = dict(zip(reading_order(self._seed, "chair", self.answers), LABELS, strict=False))

    async def _answer(self, member: Member) -> Draft | None:
        with member.at_work():
            if member.number == 1:
                draft = await self._own_answer(member.client)
            else:
                request = request_in_place(HelpCase(self.request), self.turn.helping.sees)
                draft = await self.turn.ask(MutedClient(member.client), request, "it deliberates", "peer")
        if not draft:
            self._missing.append(f"member {member.number} gave no answer: {self.turn.failure}")
        return draft

    async def _well_formed(self, answers: Mapping[int, Draft]) -> dict[int, Draft]:
        """Returns the answers with calls or JSON of the right form; the others are dropped, unless all are wrong."""
        problems = {number: find_form_problem(self.request, draft.response) for number, draft in answers.items()}
        for number, problem in problems.items():
            if problem and not all(problems.values()):
                await self.turn.refuse(answers[number], problem)
                self._missing.append(f"member {number} gave no answer: {problem}")
        return {number: draft for number, draft in answers.items() if not problems[number]}

    async def _own_answer(self, client: ModelClient) -> Draft | None:
        """Returns the first member's draft. Its error is kept for the case that nobody else answers."""
        started, draft, problem = monotonic(), None, ""
        try:
            draft = await self.turn.request_draft(MutedClient(client), self.request)
            problem = why_unusable(draft.response, "peer")
        except (ProviderError, BudgetExceeded) as error:
            self._error, problem = error, str(error)
        await self.turn.emit(consultation_event(NAME, "own", self.request, draft, monotonic() - started))
        if problem:
            await self.turn.refuse(draft, problem)
        return None if problem else draft

    async def rank(self, *, ranks_own: bool) -> tuple[Standing, ...]:
        """Returns the standings, best first. Members who could rank fewer than two answers are not asked."""
        choices = {judge: [each for each in self.answers if ranks_own or each != judge] for judge in self.answers}
        judges = [judge for judge, numbers in choices.items() if len(numbers) > 1]
        rankings = await run_together(*(self._ranking(self.members[judge], choices[judge]) for judge in judges))
        standings = pool([*self.answers], rankings)
        by_judge = [
            {"judge": self._labels[judge], "ranking": [self._labels[number] for number in ranking]}
            for judge, ranking in zip(judges, rankings, strict=True)
            if ranking
        ]
        await self.turn.emit(AnswersRanked([*map(self._row, standings)], by_judge, sorted(self._missing), self._seed))
        return standings

    async def _ranking(self, judge: Member, numbers: Sequence[int]) -> Ranking:
        """Returns a judge's ranking, made with an order and letters of its own; empty if it can't be read."""
        order = reading_order(self._seed, str(judge.number), numbers)
        request = self._request("ranking", order, letters=", ".join(LABELS[: len(order)]))
        request = replace(request, output_schema=SCHEMA, options={})
        who = f"the member of {self._labels[judge.number]}"  # as listeners know it, who see the letters in the table
        with judge.at_work():
            draft = await self.turn.ask(MutedClient(judge.client), request, "the answers are ranked", "judge")
        places = read_ranking(draft.text, len(order)) if draft else ()
        if draft and not places:
            await self.turn.refuse(draft, f"the ranking of {who} can't be read: {draft.text[:80]!r}")
            self._missing.append(self.turn.failure)
        if not draft:
            self._missing.append(f"{who} gave no ranking: {self.turn.failure}")
        return tuple(order[place] for place in places)

    def _request(self, prompt: str, order: Ranking, **values: str) -> ModelRequest:
        """Returns the original request with the answers appended in this order, and without tool calls."""
        request = request_in_place(HelpCase(self.request), self.turn.helping.sees)
        room = MOST_SHOWN // len(order)
        texts = (excerpt(bounded_text(self.answers[number].response.message), room) for number in order)
        note = packaged_prompt(prompt, answers=labelled_answers(texts), **values)
        return replace(with_note(request, note), tool_choice="none", output_schema=None)

    def _row(self, standing: Standing) -> Mapping[str, Any]:
        member = self.members[standing.number]
        return {
            "label": self._labels[standing.number],
            "member": standing.number,
            "model": self.answers[standing.number].response.model,
            "rank": standing.rank,
            "points": None if standing.points is None else round(float(standing.points), 4),
            "firsts": standing.firsts,
            "judges": standing.judges,
            "cost_usd": member.budget.ledger.usage.cost_usd,
            "seconds": round(member.seconds, 3),
        }

    def can_edit(self, best: int) -> bool:
        """Checks whether a chair may edit: there are several answers, and the best is text.

        Calls and JSON are served unchanged.
        """
        is_text = self.request.output_schema is None and not self.answers[best].response.tool_calls
        return is_text and len(self.answers) > 1

    async def edit(self, chair: ModelClient, standings: Sequence[Standing]) -> ModelResponse | None:
        """Streams and returns the chair's answer; None if it makes none."""
        table = "\n".join(f"{self._labels[each.number]}: {each.words}" for each in standings)
        request = self._request("chair", tuple(self._labels), table=table)
        stream = AnswerStream(self.turn.emit, "chair")
        streamed = StreamedReply(chair, stream, ChairReader, hides_rest=True)
        draft = await self.turn.ask(streamed, request, "one answer is made of all", "chair")
        text = without_thought(draft.text) if draft else ""
        found = split_answer(text, is_whole=True)
        if draft and not found:
            await self.turn.refuse(draft, "its answer can't be found in what it wrote")
        if not draft or not found:
            await stream.take_back(self.turn.failure)
            return None
        head, start = found
        is_complete = await self._merge(ChairNote.of(head), standings)
        answer = text[start:].lstrip() + ("" if is_complete else f"\n\n{UNMENTIONED}")
        await stream.finish(answer)
        steps = self.answers[standings[0].number].response.steps
        return replace(draft.response, message=assistant(answer), steps=steps, usage=self.turn.usage)

    async def _merge(self, note: ChairNote, standings: Sequence[Standing]) -> bool:
        """Reports what became of each answer, and returns whether the chair mentions all that somebody ranked first.

        A chair without a note is assumed to have used the best answer.
        """
        note = note.among(self._labels.values())
        used, left_out = note.used or (self._labels[standings[0].number],), note.left_out
        firsts = [self._labels[each.number] for each in standings if each.firsts]
        unmentioned = [label for label in firsts if label not in (*used, *left_out)]
        await self.turn.emit(AnswersMerged(used, left_out, unmentioned))
        for number, label in self._labels.items():
            if label not in used:
                await self.turn.drop(self.answers[number], left_out.get(label, "the chair left it out"))
        return not unmentioned

    async def serve(self, best: int) -> ModelResponse:
        """Accepts a member's answer unchanged."""
        if len(self.answers) == 1:
            words = f"Only one of {len(self.members)} models gave an answer that can be used: it is all there is."
            await self.turn.emit(Warned(words))
        for number, draft in self.answers.items():
            if number != best:
                await self.turn.drop(draft, OTHER_ANSWER_REASON)
        return await self.turn.accept(self.answers[best])


create = Deliberation
