"""The attempts of the model that answers itself: judged, and the best one kept."""

from dataclasses import dataclass, replace
from typing import Protocol, TypeGuard

from ..core.client import ModelClient
from ..core.errors import EmptyAnswer, ProviderError, Refused
from ..core.events import Warned
from ..core.exchange import NOTHING_USED, ModelRequest, ModelResponse
from ..core.helping import StuckFound
from ..core.messages import assistant
from ..judging.assessment import Assessment
from ..judging.early_stop import Watched, watches
from ._drafts import Draft
from ._examining import Judges, examined
from ._fitting import misfits
from ._helping import Turn
from ._prompts import filled
from ._seeing import Case, calls_again, told, with_note


@dataclass(frozen=True, slots=True)
class Tried:
    """An attempt and what the detector makes of it.

    `silence` is the error of one that brought no answer at all, `misfit` what is wrong with the form of one that did,
    `again`: it only makes calls once more that have their results.
    """

    draft: Draft
    judged: Assessment
    silence: ProviderError | None = None
    misfit: str = ""
    again: bool = False

    @property
    def rank(self) -> tuple[bool, bool, bool, bool, float]:
        """By quality; what fails a hard check comes after all others, then calls made again, what is cut, and nothing.

        So no answer is given up for a call whose result is there already: who runs the tools would never get out.
        """
        return not self.silence, not self.draft.cut, not self.again, not self.judged.at_once, self.judged.quality


class Paces(Protocol):
    """A detector that wants to know how often there is help."""

    def turned(self, *, stuck: bool) -> None: ...


def _paces(detector: Judges) -> TypeGuard[Paces]:
    return hasattr(detector, "turned")


class Trying:
    """The attempts of `primary` at one request.

    All are judged as answers to the request as it came, with the tools that the model has of its own.
    """

    def __init__(self, primary: ModelClient, detector: Judges, turn: Turn, request: ModelRequest) -> None:
        self.turn = turn
        self.request = request
        self.attempts = 0
        self._tools = () if request.tool_choice == "none" else request.tools or primary.offered
        self._known = request if self._tools == request.tools else replace(request, tools=self._tools)
        self._primary = primary
        self._detector = detector
        self._best: Tried | None = None
        self._failed = False

    @property
    def best(self) -> Tried:
        if self._best is None:
            raise LookupError("nothing was tried yet")
        return self._best

    @property
    def stuck(self) -> bool:
        return self.best.judged.stuck

    @property
    def case(self) -> Case:
        """What a helper may be told."""
        judged = self.best.judged
        return Case(self.request, self.best.draft.response, judged.reason, self._tools, judged.report, judged.fact)

    async def alone(self) -> None:
        """Tries until an answer is good enough, `max_retries` times at most, and not again where that can't help.

        An answer of a wrong form goes back once in any case.
        """
        await self._attempt(self.request, self._watched)
        if self.best.misfit:
            await self.again(self._objecting())
        while self._worth_another:
            await self.again(self._objecting())
        if _paces(self._detector):
            self._detector.turned(stuck=self.stuck)

    async def again(self, request: ModelRequest) -> None:
        """One more attempt; where it fails, what there is stands."""
        try:
            await self._attempt(request, self._watched)
        except ProviderError as error:
            self._failed = True
            await self.turn.emit(Warned(f"Another attempt failed, so the one before it stands: {error}"))

    async def accept(self) -> ModelResponse:
        """The best attempt; where all were cut short, one that is not. Raises what kept the model from answering."""
        last = await self._attempt(self.request, self._primary) if self.best.draft.cut else self.best
        if last.silence:
            raise last.silence
        return await self.turn.accept(self.best.draft)

    async def drop(self, reason: str = "") -> None:
        """Gives the best attempt up for an answer of somebody else."""
        await self._drop(self.best, reason)

    @property
    def _worth_another(self) -> bool:
        judged = self.best.judged
        tries_left = self.attempts < self._detector.max_retries and not self._failed
        return tries_left and judged.stuck and not judged.at_once

    def _objecting(self) -> ModelRequest:
        """The request, with what is wrong with the best attempt."""
        return with_note(self.request, filled("again", attempt=told(self.case), reason=self.case.reason))

    async def _attempt(self, request: ModelRequest, client: ModelClient) -> Tried:
        self.attempts += 1
        tried = await self._tried(request, client)
        judged = tried.judged
        if judged.stuck:
            found = StuckFound(judged.quality, judged.gain, judged.reason, judged.signals, self.attempts)
            await self.turn.emit(found)
        await self._keep(tried)
        return tried

    async def _tried(self, request: ModelRequest, client: ModelClient) -> Tried:
        try:
            draft = await self.turn.draft(client, request)
        except (EmptyAnswer, Refused) as error:
            nothing = Draft(ModelResponse(assistant(error.partial), usage=NOTHING_USED), NOTHING_USED)
            return Tried(nothing, hopeless("silence", str(error)), error)
        if draft.cut:
            return Tried(draft, hopeless("cut_short", draft.cut))
        if misfit := misfits(self.request, draft.response):
            return Tried(draft, hopeless("misfit", misfit), misfit=misfit)
        again = calls_again(self._known, draft.response)
        return Tried(draft, await examined(self._detector, self.turn, self._known, draft), again=again)

    @property
    def _watched(self) -> ModelClient:
        """The model, cut short where its answer is hopeless and somebody can help."""
        if watches(self._detector) and self.turn.may_ask:
            return Watched(self._primary, self._detector, self._known)
        return self._primary

    async def _keep(self, tried: Tried) -> None:
        """The better one of this attempt and the best so far; of equals the later one."""
        worse, self._best = self._best, tried
        if worse and worse.rank > tried.rank:
            worse, self._best = tried, worse
        if worse:
            await self._drop(worse)

    async def _drop(self, tried: Tried, reason: str = "") -> None:
        """Where nothing came, nothing is dropped."""
        if not tried.silence:
            await self.turn.drop(tried.draft, reason or tried.judged.reason or "another attempt was better")


def hopeless(signal: str, reason: str) -> Assessment:
    """The judgement of an answer that no further look is needed at."""
    return Assessment(0.0, 1.0, True, {signal: 1.0}, reason, at_once=True)
