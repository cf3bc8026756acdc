"""Several answers to one request: judged and counted; one of them is served, or a helper's in their place."""

from collections.abc import Coroutine
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, runtime_checkable

from ..core.client import ModelClient
from ..core.errors import EmptyAnswer, ProviderError, Refused
from ..core.events import Emit, ignore
from ..core.exchange import NOTHING_USED, ModelRequest, ModelResponse
from ..core.helping import StuckFound
from ..core.messages import assistant
from ..judging.agreement import Ballot, Tally, ballot, features, is_refuted, is_verified, weighed
from ..judging.assessment import Assessment, Context
from ..judging.calibration import Agreement
from ..judging.detector import StuckDetector
from ._drafts import Draft
from ._examining import Judges, examined, first_judgement, verify
from ._helping import Found, Helping, Turn
from ._prompts import shortened
from ._seeing import Case, calls_again
from ._together import Quiet, together
from ._trying import hopeless
from .takeover import CALLS_AGAIN, ask_in_place, in_its_place, noting

COMPARED = "a second opinion to compare with"
ANOTHER = "another answer was served"
LEARNED = "by its calibration, answers that agree like this are to be doubted"
SHOWN = 80
AHEAD = 2


class Doubts(Judges, Protocol):
    """Judges answers; one of a quality below `threshold` is doubted."""

    threshold: float


@runtime_checkable
class Calibrated(Protocol):
    """A detector that knows from answers of one's own when several that agree, or don't, are to be doubted."""

    @property
    def agreement(self) -> Agreement | None: ...


@dataclass(frozen=True, slots=True)
class Opinion:
    """An answer, what it comes down to, and what the detector makes of it; one that is refuted has no vote."""

    draft: Draft
    ballot: Ballot | None
    judged: Assessment
    verified: tuple[Found, ...] = ()


class Poll:
    """The answers to `request` so far, the primary's first."""

    def __init__(self, turn: Turn, request: ModelRequest, detector: Doubts) -> None:
        self.turn = turn
        self.request = request
        self.opinions: list[Opinion] = []
        self.silence: ProviderError | None = None
        self._detector = detector

    @property
    def tally(self) -> Tally:
        return Tally.of(opinion.ballot for opinion in self.opinions)

    @property
    def leader(self) -> Opinion | None:
        """The first that is verified, or that says what most say; nobody where opinions are divided."""
        verified = (opinion for opinion in self.opinions if is_verified(opinion.judged))
        return next(verified, next((self.opinions[place] for place in self.tally.leading), None))

    @property
    def divided(self) -> bool:
        """Whether they could agree and don't all; free text that is long says nothing about that."""
        said = [opinion.ballot for opinion in self.opinions]
        comparable = all(said) or any(each and each.kind != "text" for each in said)
        return comparable and len(self.tally.groups) > 1

    @property
    def best(self) -> Opinion:
        """The likeliest to be right by all that is known; of equals the earliest."""
        return max(self.opinions, key=lambda opinion: self.with_votes(opinion).quality)

    def with_votes(self, opinion: Opinion, judged: Assessment | None = None) -> Assessment:
        """What the detector makes of a opinion, or has just `judged` of it, and what the others say."""
        others = [other.ballot for other in self.opinions if other is not opinion]
        return weighed(judged or opinion.judged, opinion.ballot, others)

    @property
    def open(self) -> bool:
        """Whether one more opinion could matter: all are refuted; or they are divided, and no group is two ahead."""
        if self.leader and is_verified(self.leader.judged):
            return False
        return self._refuted or (self.divided and self.tally.margin < AHEAD)

    @property
    def _fact(self) -> str:
        return next((opinion.judged.fact for opinion in self.opinions if opinion.judged.fact), "")

    @property
    def _refuted(self) -> bool:
        return all(is_refuted(opinion.judged) for opinion in self.opinions)

    async def own(self, client: ModelClient, fact: str = "") -> Draft:
        """What the primary answers; that it answers nothing, or declines, is no more than the poorest of answers.

        A `fact` that running has shown is told to it.
        """
        request = noting(self.request, fact)
        try:
            return await self.turn.draft(client, request)
        except (EmptyAnswer, Refused) as error:
            self.silence = error
            return Draft(ModelResponse(assistant(error.partial), usage=NOTHING_USED), NOTHING_USED)

    async def hear(self, *answers: Coroutine[Any, Any, Draft | None]) -> None:
        """All at once; those that bring nothing have no opinion."""
        for draft in await together(*answers):
            if draft:
                self.opinions.append(await self._opinion(draft))

    async def hear_again(self, client: ModelClient) -> None:
        """Where running has refuted all answers, the primary is asked once more, and told what running has shown."""
        fact = self._fact
        if fact and self._refuted and not self.silence:
            await self.hear(self.own(Quiet(client), fact))

    async def peer(self, client: ModelClient) -> Draft | None:
        """What a peer says, without having seen any attempt."""
        asked = in_its_place(Case(self.request), self.turn.helping.sees)
        return await self.turn.ask(client, asked, COMPARED, role="peer")

    async def decide(self, helper: ModelClient | None) -> ModelResponse:
        """What leads is served; without a leader `helper` answers, where no calibration says otherwise.

        What can't be compared is left to the detector.
        """
        split = self.divided and not self.leader
        if split and not self._agreement:
            return await self.doubt(self._split, helper)
        opinion = await self._examined(self.leader or self.opinions[0])
        if not self._is_poor(opinion):
            return await self.serve(opinion)
        return await self.doubt(self._split if split else opinion.judged.reason or LEARNED, helper)

    @property
    def _split(self) -> str:
        return f"no two agree: {', '.join(map(_summary, self.opinions))}"

    @property
    def _agreement(self) -> Agreement | None:
        return self._detector.agreement if isinstance(self._detector, Calibrated) else None

    def _is_poor(self, opinion: Opinion, judged: Assessment | None = None) -> bool:
        known = self.with_votes(opinion, judged)
        if is_verified(known) or known.signals.get("refuted"):
            return not is_verified(known)
        if self._agreement and not is_refuted(known):
            ballots = [each.ballot for each in self.opinions]
            place = next(place for place, each in enumerate(self.opinions) if each is opinion)
            prompt = Context.of(self.request).prompt
            found = features(judged or opinion.judged, ballots, place, prompt)
            return self._agreement.doubts(found, prompt, opinion.draft.text)
        if opinion.ballot is None and is_refuted(known):
            return known.at_once or known.stuck
        return known.at_once or (known.stuck and known.quality < self._detector.threshold)

    async def serve(self, opinion: Opinion) -> ModelResponse:
        """Its answer; raises what kept the primary from answering, where that is all there is."""
        if self.silence and opinion is self.opinions[0]:
            raise self.silence
        await self._drop(ANOTHER, keeping=opinion)
        return await self.turn.accept(opinion.draft)

    async def doubt(self, reason: str, helper: ModelClient | None) -> ModelResponse:
        """The helper's answer in the place of all; the best of them where there is none."""
        best = self.best
        judged = self.with_votes(best)
        reason = judged.reason if judged.at_once else reason
        await self.turn.emit(StuckFound(judged.quality, judged.gain, reason, judged.signals))
        if not helper:
            return await self.serve(best)
        case = Case(self.request, best.draft.response, reason, fact=self._fact)
        answer = await ask_in_place(self.turn, helper, case)
        if not answer:
            return await self.serve(best)
        await self._drop(reason)
        return await self.turn.accept(answer)

    async def _drop(self, reason: str, keeping: Opinion | None = None) -> None:
        """Where nothing came, nothing is dropped."""
        for place, opinion in enumerate(self.opinions):
            if opinion is not keeping and (place or not self.silence):
                await self.turn.drop(opinion.draft, reason)

    async def _examined(self, opinion: Opinion) -> Opinion:
        """The opinion, looked at once more: only one that would be served is worth that."""
        if opinion.judged.at_once:
            return opinion
        decides = partial(self._is_poor, opinion)
        judged = await examined(self._detector, self.turn, self.request, opinion.draft, decides, opinion.verified)
        known = replace(opinion, judged=judged)
        self.opinions = [known if each is opinion else each for each in self.opinions]
        return known

    async def _opinion(self, draft: Draft) -> Opinion:
        if self.silence and not self.opinions:
            return Opinion(draft, None, hopeless("silence", str(self.silence)))
        if calls_again(self.request, draft.response):
            return Opinion(draft, None, hopeless("calls_again", CALLS_AGAIN))
        said = ballot(self.request, draft.response)
        found = await verify(self.turn, self.request, draft.response, shown(said))
        judged = first_judgement(self._detector, self.request, draft, found)
        return Opinion(draft, None if is_refuted(judged) else said, judged, found)


@dataclass(frozen=True, slots=True)
class Voters:
    """`primary` and `peers`, best each of another family; `secondary` answers where no answer leads.

    `reserve` are asked one after the other, until an answer is two votes ahead: a second look that costs a small
    model and spares the large one.
    """

    primary: ModelClient
    secondary: ModelClient | None
    peers: tuple[ModelClient, ...]
    reserve: tuple[ModelClient, ...] = ()

    async def aclose(self) -> None:
        for client in filter(None, (self.primary, *self.peers, *self.reserve, self.secondary)):
            await client.aclose()


class Polled(ModelClient):
    """Without a large model the likeliest of the answers is served where none leads.

    Where answers can't be compared, or nobody else brings one, the detector decides alone.
    """

    def __init__(
        self, voters: Voters, strategy: str, detector: Doubts | None = None, helping: Helping | None = None
    ) -> None:
        self.voters = voters
        self.detector = detector or StuckDetector()
        self.helping = helping or Helping()
        self._strategy = strategy

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        poll = Poll(Turn(self._strategy, self.helping, emit), request, self.detector)
        await poll.hear(poll.own(self.voters.primary), *(poll.peer(Quiet(peer)) for peer in self.voters.peers))
        for another in self.voters.reserve:
            if not poll.open:
                break
            await poll.hear(poll.peer(another))
        await poll.hear_again(self.voters.primary)
        return await poll.decide(self.voters.secondary)

    async def aclose(self) -> None:
        await self.voters.aclose()


def _summary(opinion: Opinion) -> str:
    return shown(opinion.ballot) if opinion.ballot else opinion.judged.reason.rstrip(".") or shown(None)


def shown(ballot: Ballot | None) -> str:
    """What an answer comes down to, for people."""
    return repr(shortened(ballot.key, SHOWN)) if ballot else "no answer"
