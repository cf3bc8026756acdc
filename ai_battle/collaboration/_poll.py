"""Polls several answers to one request: judges and counts them, and serves one of them or a helper's."""

from collections.abc import Coroutine, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

from ..core.client import ModelClient, run_together
from ..core.errors import ProviderError
from ..core.events import Emit, Warned, ignore
from ..core.exchange import ModelRequest, ModelResponse
from ..judging.agreement import Ballot, VoteCount, assessment_with_votes, ballot, features, is_refuted, is_verified
from ..judging.assessment import Assessment, Context
from ..judging.calibration import Agreement
from ..judging.detector import StuckDetector
from ._attempts import (
    CALLS_AGAIN,
    Candidate,
    Strategy,
    answer_in_place,
    draft_or_silence,
    hopeless,
    hopeless_candidate,
    stuck_event,
)
from ._checks import (
    COMPARING_REASON,
    OTHER_ANSWER_REASON,
    Judges,
    another_sample,
    assess,
    ballot_text,
    first_assessment,
    verify,
)
from ._prompts import HelpCase, calls_again, request_in_place, with_fact
from ._turn import Draft, Helping, Turn
from ._wrappers import MutedClient

CALIBRATION_REASON = "by its calibration, answers that agree like this are to be doubted"
CLEAR_MARGIN = 2
Answer = tuple[Draft, ProviderError | None]
"""A model's answer, with its error if it said nothing."""


class Doubts(Judges, Protocol):
    """Judges answers; one with a quality below `threshold` is doubted."""

    threshold: float


class Poll:
    """The answers to `request` so far, the primary's first. A refuted answer has no ballot."""

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
        """The first verified answer, or the one that most agree with; None if opinions are divided."""
        verified = (answer for answer in self.answers if is_verified(answer.judged))
        return next(verified, next((self.answers[place] for place in VoteCount.of(self.ballots).leading), None))

    @property
    def is_divided(self) -> bool:
        """True if the answers are comparable and don't all agree; long free text can't be compared."""
        comparable = all(self.ballots) or any(each and each.kind != "text" for each in self.ballots)
        return comparable and len(VoteCount.of(self.ballots).groups) > 1

    @property
    def is_open(self) -> bool:
        """True if one more opinion could matter: all are refuted, or they are divided and no group is two ahead."""
        if self.leader and is_verified(self.leader.judged):
            return False
        return self._all_refuted or (self.is_divided and VoteCount.of(self.ballots).margin < CLEAR_MARGIN)

    def with_votes(self, answer: Candidate, judged: Assessment | None = None) -> Assessment:
        """Returns an answer's assessment, or the newer one in `judged`, combined with the other answers' votes."""
        others = [other.ballot for other in self.answers if other is not answer]
        return assessment_with_votes(judged or answer.judged, answer.ballot, others)

    async def add(self, *answers: Coroutine[Any, Any, Answer | None]) -> None:
        """Requests all answers concurrently; those that fail, or have another form than one that fits, have no vote."""
        for answer in filter(None, await run_together(*answers)):
            self.answers.append(await self._candidate(*answer))
        fitting = [each for each in self.answers if not each.form_problem]
        if any(not (each.silence or each.again) for each in fitting):
            for other in (each for each in self.answers if each.form_problem):
                await self.turn.drop(other.draft, other.form_problem)
            self.answers = fitting

    async def request_own(self, client: ModelClient, fact: str = "") -> Answer:
        """Returns the primary's answer; the primary is told a `fact` that running code has shown."""
        return await draft_or_silence(self.turn, client, with_fact(self.request, fact))

    async def request_peer(self, client: ModelClient) -> Answer | None:
        """Returns a peer's answer; the peer sees no attempt."""
        request = request_in_place(HelpCase(self.request), self.turn.helping.sees)
        draft = await self.turn.ask(client, request, COMPARING_REASON, role="peer")
        return (draft, None) if draft else None

    async def request_sample(self, client: ModelClient, number: int) -> Answer | None:
        """Returns one more answer of the primary; if it fails, the others vote without it."""
        try:
            return await self.turn.request_draft(MutedClient(client), another_sample(self.request, number)), None
        except ProviderError as error:
            await self.turn.emit(Warned(f"A sample failed, so the others vote without it: {error}"))
            return None

    async def request_own_again(self, client: ModelClient) -> None:
        """Asks the primary once more if running code has refuted all answers, and tells it what that has shown."""
        fact = self._fact
        if fact and self._all_refuted and not self.answers[0].silence:
            await self.add(self.request_own(MutedClient(client), fact))

    async def _candidate(self, draft: Draft, silence: ProviderError | None) -> Candidate:
        """Builds the candidate of an answer, with its ballot and a first assessment."""
        if calls_again(self.request, draft.response):
            return Candidate(draft, hopeless("calls_again", CALLS_AGAIN), again=True)
        if lost := hopeless_candidate(self.request, draft, silence):
            return lost
        vote = ballot(self.request, draft.response)
        verified = await verify(self.turn, self.request, draft.response, ballot_text(vote))
        judged = first_assessment(self._detector, self.request, draft, verified)
        return Candidate(draft, judged, ballot=None if is_refuted(judged) else vote, verified=verified)

    async def decide(self, helper: ModelClient | None) -> ModelResponse:
        """Serves the leader. Without one `helper` answers, unless a calibration decides otherwise.

        If the answers can't be compared, the detector decides.
        """
        split = self.is_divided and not self.leader
        if split and not self._agreement:
            return await self._doubt(self._split, helper)
        answer = await self._assess_again(self.leader or self.answers[0])
        if not self._is_poor(answer):
            return await self._serve(answer)
        if split:
            return await self._doubt(self._split, helper)
        return await self._doubt(answer.judged.reason or CALIBRATION_REASON, helper, answer)

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
        return self._detector.agreement if isinstance(self._detector, StuckDetector) else None

    def _is_poor(self, answer: Candidate, judged: Assessment | None = None) -> bool:
        known = self.with_votes(answer, judged)
        if is_verified(known) or known.signals.get("refuted"):
            return not is_verified(known)
        if self._agreement and not is_refuted(known):
            return self._is_doubted(self._agreement, answer, judged or answer.judged)
        return known.at_once or (known.stuck and self._is_below(known, answer))

    def _is_below(self, known: Assessment, answer: Candidate) -> bool:
        """Checks whether an answer is below the threshold, which does not apply to refuted answers."""
        return (answer.ballot is None and is_refuted(known)) or known.quality < self._detector.threshold

    def _is_doubted(self, agreement: Agreement, answer: Candidate, judged: Assessment) -> bool:
        place = next(place for place, each in enumerate(self.answers) if each is answer)
        prompt = Context.of(self.request).prompt
        return agreement.doubts(features(judged, self.ballots, place, prompt), prompt, answer.draft.text)

    async def _serve(self, answer: Candidate) -> ModelResponse:
        """Accepts the answer. Raises the error that kept the primary from answering if there is nothing else."""
        if answer.silence:
            raise answer.silence
        await self._drop(OTHER_ANSWER_REASON, keeping=answer)
        return await self.turn.accept(answer.draft)

    async def _doubt(self, reason: str, helper: ModelClient | None, poor: Candidate | None = None) -> ModelResponse:
        """Accepts the helper's answer instead of all others; without one, the most likely of these.

        `poor` is the answer that the reason is about; without one, it is about all of them.
        """
        best = max(self.answers, key=lambda answer: (not answer.silence, self.with_votes(answer).quality))
        shown = poor or best
        judged = self.with_votes(shown)
        judged = judged if judged.at_once else replace(judged, reason=reason)
        await self.turn.emit(stuck_event(judged))
        case = HelpCase(self.request, shown.draft.response, judged.reason, fact=self._fact)
        answer = await answer_in_place(self.turn, helper, case) if helper else None
        if not answer:
            return await self._serve(best)
        await self._drop(judged.reason)
        return await self.turn.accept(answer)

    async def _drop(self, reason: str, keeping: Candidate | None = None) -> None:
        """Tells listeners about the dropped answers, except those that brought nothing."""
        for answer in self.answers:
            if answer is not keeping and not answer.silence:
                await self.turn.drop(answer.draft, reason)

    async def _assess_again(self, answer: Candidate) -> Candidate:
        """Assesses an answer with paid checks, which only the one that would be served is worth."""
        if answer.judged.at_once:
            return answer
        decides = partial(self._is_poor, answer)
        judged = await assess(self._detector, self.turn, self.request, answer.draft, decides, answer.verified)
        known = replace(answer, judged=judged)
        self.answers = [known if each is answer else each for each in self.answers]
        return known


class Polling(Strategy):
    """Lets `primary` and `peers` answer, best each of another family; `secondary` answers if no answer leads.

    `primary` answers `samples` times, each by a call of its own, since several providers give only one answer per call.
    The first call is the request unchanged; the others have a temperature above 0 and seeds of their own.

    The `reserve` is asked one by one until an answer is two votes ahead, because a small model's opinion is cheaper
    than the large model's. Without a large model and a leader, the most likely answer is served. If the answers can't
    be compared, or there is only one, the detector decides alone.
    """

    def __init__(
        self,
        name: str,
        clients: tuple[ModelClient, ModelClient | None],
        peers: Sequence[ModelClient],
        detector: Doubts | None = None,
        helping: Helping | None = None,
        reserve: Sequence[ModelClient] = (),
        samples: int = 1,
    ) -> None:
        primary, self.secondary = clients
        super().__init__(primary, *peers, *reserve, self.secondary, helping=helping)
        self.peers = tuple(peers)
        self.reserve = tuple(reserve)
        self.samples = samples
        self.detector = detector or StuckDetector()
        self._name = name

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        self.require_primary()
        poll = Poll(Turn(self._name, self.helping, emit), request, self.detector)
        peers = (poll.request_peer(MutedClient(peer)) for peer in self.peers)
        samples = (poll.request_sample(self.primary, number) for number in range(1, self.samples))
        await poll.add(poll.request_own(self.primary), *peers, *samples)
        for another in self.reserve:
            if not poll.is_open:
                break
            await poll.add(poll.request_peer(another))
        await poll.request_own_again(self.primary)
        return await poll.decide(self.secondary)


def _summary(answer: Candidate) -> str:
    return ballot_text(answer.ballot) if answer.ballot else answer.judged.reason.rstrip(".") or ballot_text(None)
