"""Several answers to one request: judged and counted; one of them is served, or a helper's in their place."""

from collections.abc import Coroutine
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, runtime_checkable

from ..core.client import ModelClient
from ..core.errors import EmptyAnswer, ProviderError, Refused
from ..core.exchange import NOTHING_USED, ModelRequest, ModelResponse
from ..core.helping import StuckFound
from ..core.messages import assistant
from ._agreement import Ballot, Tally, ballot, features, is_refuted, is_verified, weighed
from ._drafts import Draft
from ._examining import Judges, examined, first_judgement, verify
from ._helping import Found, Turn
from ._prompts import shortened
from ._seeing import Case, calls_again
from ._stuck.assessment import Assessment, Context
from ._stuck.calibration import Agreement
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
class Voice:
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
        self.voices: list[Voice] = []
        self.silence: ProviderError | None = None
        self._detector = detector

    @property
    def tally(self) -> Tally:
        return Tally.of(voice.ballot for voice in self.voices)

    @property
    def leader(self) -> Voice | None:
        """The first that is verified, or that says what most say; nobody where opinions are divided."""
        verified = (voice for voice in self.voices if is_verified(voice.judged))
        return next(verified, next((self.voices[place] for place in self.tally.leading), None))

    @property
    def divided(self) -> bool:
        """Whether they could agree and don't all; free text that is long says nothing about that."""
        said = [voice.ballot for voice in self.voices]
        comparable = all(said) or any(each and each.kind != "text" for each in said)
        return comparable and len(self.tally.groups) > 1

    @property
    def best(self) -> Voice:
        """The likeliest to be right by all that is known; of equals the earliest."""
        return max(self.voices, key=lambda voice: self.with_votes(voice).quality)

    def with_votes(self, voice: Voice, judged: Assessment | None = None) -> Assessment:
        """What the detector makes of a voice, or has just `judged` of it, and what the others say."""
        others = [other.ballot for other in self.voices if other is not voice]
        return weighed(judged or voice.judged, voice.ballot, others)

    @property
    def open(self) -> bool:
        """Whether one more voice could matter: all are refuted; or they are divided, and no group is two ahead."""
        if self.leader and is_verified(self.leader.judged):
            return False
        return self._refuted or (self.divided and self.tally.margin < AHEAD)

    @property
    def _fact(self) -> str:
        return next((voice.judged.fact for voice in self.voices if voice.judged.fact), "")

    @property
    def _refuted(self) -> bool:
        return all(is_refuted(voice.judged) for voice in self.voices)

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
        """All at once; those that bring nothing have no voice."""
        for draft in await together(*answers):
            if draft:
                self.voices.append(await self._voice(draft))

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
        voice = await self._examined(self.leader or self.voices[0])
        if not self._is_poor(voice):
            return await self.serve(voice)
        return await self.doubt(self._split if split else voice.judged.reason or LEARNED, helper)

    @property
    def _split(self) -> str:
        return f"no two agree: {', '.join(map(_told, self.voices))}"

    @property
    def _agreement(self) -> Agreement | None:
        return self._detector.agreement if isinstance(self._detector, Calibrated) else None

    def _is_poor(self, voice: Voice, judged: Assessment | None = None) -> bool:
        known = self.with_votes(voice, judged)
        if is_verified(known) or known.signals.get("refuted"):
            return not is_verified(known)
        if self._agreement and not is_refuted(known):
            ballots = [each.ballot for each in self.voices]
            place = next(place for place, each in enumerate(self.voices) if each is voice)
            prompt = Context.of(self.request).prompt
            found = features(judged or voice.judged, ballots, place, prompt)
            return self._agreement.doubts(found, prompt, voice.draft.text)
        if voice.ballot is None and is_refuted(known):
            return known.at_once or known.stuck
        return known.at_once or (known.stuck and known.quality < self._detector.threshold)

    async def serve(self, voice: Voice) -> ModelResponse:
        """Its answer; raises what kept the primary from answering, where that is all there is."""
        if self.silence and voice is self.voices[0]:
            raise self.silence
        await self._drop(ANOTHER, keeping=voice)
        return await self.turn.accept(voice.draft)

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

    async def _drop(self, reason: str, keeping: Voice | None = None) -> None:
        """Where nothing came, nothing is dropped."""
        for place, voice in enumerate(self.voices):
            if voice is not keeping and (place or not self.silence):
                await self.turn.drop(voice.draft, reason)

    async def _examined(self, voice: Voice) -> Voice:
        """The voice, looked at once more: only one that would be served is worth that."""
        if voice.judged.at_once:
            return voice
        decides = partial(self._is_poor, voice)
        judged = await examined(self._detector, self.turn, self.request, voice.draft, decides, voice.verified)
        known = replace(voice, judged=judged)
        self.voices = [known if each is voice else each for each in self.voices]
        return known

    async def _voice(self, draft: Draft) -> Voice:
        if self.silence and not self.voices:
            return Voice(draft, None, hopeless("silence", str(self.silence)))
        if calls_again(self.request, draft.response):
            return Voice(draft, None, hopeless("calls_again", CALLS_AGAIN))
        said = ballot(self.request, draft.response)
        found = await verify(self.turn, self.request, draft.response, shown(said))
        judged = first_judgement(self._detector, self.request, draft, found)
        return Voice(draft, None if is_refuted(judged) else said, judged, found)


def _told(voice: Voice) -> str:
    return shown(voice.ballot) if voice.ballot else voice.judged.reason.rstrip(".") or shown(None)


def shown(ballot: Ballot | None) -> str:
    """What an answer comes down to, for people."""
    return repr(shortened(ballot.key, SHOWN)) if ballot else "no answer"
