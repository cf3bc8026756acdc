"""Several answers to one request: judged and counted; one of them is served, or a helper's in their place."""

from collections.abc import Coroutine, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol, runtime_checkable

from ..core.client import ModelClient, run_together
from ..core.errors import ProviderError
from ..core.events import Emit, ignore
from ..core.exchange import ModelRequest, ModelResponse
from ..judging.agreement import Ballot, VoteCount, assessment_with_votes, ballot, features, is_refuted, is_verified
from ..judging.assessment import Assessment, Context
from ..judging.calibration import Agreement
from ..judging.detector import StuckDetector
from ._attempts import CALLS_AGAIN, Candidate, Strategy, answer_in_place, draft_or_silence, hopeless, stuck_found
from ._checks import ANOTHER, COMPARED, Judges, assess, ballot_text, first_assessment, verify
from ._prompts import HelpCase, calls_again, request_in_place, with_fact
from ._turn import Draft, Helping, Turn
from ._wrappers import MutedClient

LEARNED = "by its calibration, answers that agree like this are to be doubted"
AHEAD = 2
Answer = tuple[Draft, ProviderError | None]
"""What a model said, or why it said nothing."""


class Doubts(Judges, Protocol):
    """Judges answers; one of a quality below `threshold` is doubted."""

    threshold: float


@runtime_checkable
class CalibratedDetector(Protocol):
    """A detector that knows from answers of one's own when several that agree, or don't, are to be doubted."""

    @property
    def agreement(self) -> Agreement | None: ...


class Poll:
    """The answers to `request` so far, the primary's first; one that is refuted has no ballot."""

    def __init__(self, turn: Turn, request: ModelRequest, detector: Doubts) -> None:
        self.turn = turn
        self.request = request
        self.answers: list[Candidate] = []
        self._detector = detector

    @property
    def ballots(self) -> list[Ballot | None]:
        return [answer.ballot for answer in self.answers]

    @property
    def leader(self) -> Candidate | None:
        """The first that is verified, or that says what most say; nobody where opinions are divided."""
        verified = (answer for answer in self.answers if is_verified(answer.judged))
        return next(verified, next((self.answers[place] for place in VoteCount.of(self.ballots).leading), None))

    @property
    def is_divided(self) -> bool:
        """Whether they could agree and don't all; free text that is long says nothing about that."""
        comparable = all(self.ballots) or any(each and each.kind != "text" for each in self.ballots)
        return comparable and len(VoteCount.of(self.ballots).groups) > 1

    @property
    def is_open(self) -> bool:
        """Whether one more opinion could matter: all are refuted; or they are divided, and no group is two ahead."""
        if self.leader and is_verified(self.leader.judged):
            return False
        return self._all_refuted or (self.is_divided and VoteCount.of(self.ballots).margin < AHEAD)

    def with_votes(self, answer: Candidate, judged: Assessment | None = None) -> Assessment:
        """Returns what the detector makes of an answer, or has just `judged` of it, and what the others say."""
        others = [other.ballot for other in self.answers if other is not answer]
        return assessment_with_votes(judged or answer.judged, answer.ballot, others)

    async def add(self, *answers: Coroutine[Any, Any, Answer | None]) -> None:
        """Request all at once; those that bring nothing have no opinion."""
        for answer in filter(None, await run_together(*answers)):
            self.answers.append(await self._candidate(*answer))

    async def request_own(self, client: ModelClient, fact: str = "") -> Answer:
        """Returns what the primary answers, who is told a `fact` that running has shown."""
        return await draft_or_silence(self.turn, client, with_fact(self.request, fact))

    async def request_peer(self, client: ModelClient) -> Answer | None:
        """Returns what a peer says, without having seen any attempt."""
        request = request_in_place(HelpCase(self.request), self.turn.helping.sees)
        draft = await self.turn.ask(client, request, COMPARED, role="peer")
        return (draft, None) if draft else None

    async def request_own_again(self, client: ModelClient) -> None:
        """Asks the primary once more where running has refuted all answers, and tells it what running has shown."""
        fact = self._fact
        if fact and self._all_refuted and not self.answers[0].silence:
            await self.add(self.request_own(MutedClient(client), fact))

    async def _candidate(self, draft: Draft, silence: ProviderError | None) -> Candidate:
        """An answer with its ballot and what is known of it at once."""
        if silence:
            return Candidate(draft, hopeless("silence", str(silence)), silence)
        if calls_again(self.request, draft.response):
            return Candidate(draft, hopeless("calls_again", CALLS_AGAIN), again=True)
        vote = ballot(self.request, draft.response)
        verified = await verify(self.turn, self.request, draft.response, ballot_text(vote))
        judged = first_assessment(self._detector, self.request, draft, verified)
        return Candidate(draft, judged, ballot=None if is_refuted(judged) else vote, verified=verified)

    async def decide(self, helper: ModelClient | None) -> ModelResponse:
        """Serve what leads; without a leader `helper` answers, where no calibration says otherwise.

        What can't be compared is left to the detector.
        """
        split = self.is_divided and not self.leader
        if split and not self._agreement:
            return await self._doubt(self._split, helper)
        answer = await self._assess_again(self.leader or self.answers[0])
        if not self._is_poor(answer):
            return await self._serve(answer)
        return await self._doubt(self._split if split else answer.judged.reason or LEARNED, helper)

    @property
    def _fact(self) -> str:
        return next((answer.judged.fact for answer in self.answers if answer.judged.fact), "")

    @property
    def _all_refuted(self) -> bool:
        return all(is_refuted(answer.judged) for answer in self.answers)

    @property
    def _split(self) -> str:
        return f"no two agree: {', '.join(map(_summary, self.answers))}"

    @property
    def _agreement(self) -> Agreement | None:
        return self._detector.agreement if isinstance(self._detector, CalibratedDetector) else None

    def _is_poor(self, answer: Candidate, judged: Assessment | None = None) -> bool:
        known = self.with_votes(answer, judged)
        if is_verified(known) or known.signals.get("refuted"):
            return not is_verified(known)
        if self._agreement and not is_refuted(known):
            return self._is_doubted(self._agreement, answer, judged or answer.judged)
        return known.at_once or (known.stuck and self._is_below(known, answer))

    def _is_below(self, known: Assessment, answer: Candidate) -> bool:
        """Says whether an answer is below the threshold, which says nothing of what is refuted."""
        return (answer.ballot is None and is_refuted(known)) or known.quality < self._detector.threshold

    def _is_doubted(self, agreement: Agreement, answer: Candidate, judged: Assessment) -> bool:
        place = next(place for place, each in enumerate(self.answers) if each is answer)
        prompt = Context.of(self.request).prompt
        return agreement.doubts(features(judged, self.ballots, place, prompt), prompt, answer.draft.text)

    async def _serve(self, answer: Candidate) -> ModelResponse:
        """Accept it; raises what kept the primary from answering, where that is all there is."""
        if answer.silence:
            raise answer.silence
        await self._drop(ANOTHER, keeping=answer)
        return await self.turn.accept(answer.draft)

    async def _doubt(self, reason: str, helper: ModelClient | None) -> ModelResponse:
        """Accept the helper's answer in the place of all; the likeliest of them where there is none."""
        best = max(self.answers, key=lambda answer: self.with_votes(answer).quality)
        judged = self.with_votes(best)
        judged = judged if judged.at_once else replace(judged, reason=reason)
        await self.turn.emit(stuck_found(judged))
        case = HelpCase(self.request, best.draft.response, judged.reason, fact=self._fact)
        answer = await answer_in_place(self.turn, helper, case) if helper else None
        if not answer:
            return await self._serve(best)
        await self._drop(judged.reason)
        return await self.turn.accept(answer)

    async def _drop(self, reason: str, keeping: Candidate | None = None) -> None:
        """Tells listeners that an answer is dropped, unless nothing came."""
        for answer in self.answers:
            if answer is not keeping and not answer.silence:
                await self.turn.drop(answer.draft, reason)

    async def _assess_again(self, answer: Candidate) -> Candidate:
        """The answer, looked at once more: only one that would be served is worth that."""
        if answer.judged.at_once:
            return answer
        decides = partial(self._is_poor, answer)
        judged = await assess(self._detector, self.turn, self.request, answer.draft, decides, answer.verified)
        known = replace(answer, judged=judged)
        self.answers = [known if each is answer else each for each in self.answers]
        return known


class Polling(Strategy):
    """`primary` and `peers` answer, best each of another family; `secondary` answers where no answer leads.

    `reserve` are asked one after the other, until an answer is two votes ahead: a second look that costs a small
    model and spares the large one. Without a large model the likeliest of the answers is served where none leads.
    Where answers can't be compared, or nobody else brings one, the detector decides alone.
    """

    def __init__(
        self,
        name: str,
        clients: tuple[ModelClient, ModelClient | None],
        peers: Sequence[ModelClient],
        detector: Doubts | None = None,
        helping: Helping | None = None,
        reserve: Sequence[ModelClient] = (),
    ) -> None:
        primary, self.secondary = clients
        super().__init__(primary, *peers, *reserve, self.secondary, helping=helping)
        self.peers = tuple(peers)
        self.reserve = tuple(reserve)
        self.detector = detector or StuckDetector()
        self._name = name

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        poll = Poll(Turn(self._name, self.helping, emit), request, self.detector)
        await poll.add(poll.request_own(self.primary), *(poll.request_peer(MutedClient(peer)) for peer in self.peers))
        for another in self.reserve:
            if not poll.is_open:
                break
            await poll.add(poll.request_peer(another))
        await poll.request_own_again(self.primary)
        return await poll.decide(self.secondary)


def _summary(answer: Candidate) -> str:
    return ballot_text(answer.ballot) if answer.ballot else answer.judged.reason.rstrip(".") or ballot_text(None)
