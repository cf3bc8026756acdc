"""The loop of pairs: a model drafts, its answer is judged, helpers are asked while it is stuck, the best is chosen."""

import json
import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeGuard

from ..core.client import ModelClient
from ..core.errors import ConfigError, EmptyAnswer, ProviderError, Refused
from ..core.events import Emit, Warned, ignore
from ..core.exchange import NOTHING_USED, ModelRequest, ModelResponse, ToolSpec
from ..core.helping import AnswersCompared, StuckFound
from ..core.messages import ToolCall, assistant
from ..core.plugins import near
from ..judging.agreement import Ballot
from ..judging.assessment import Assessment
from ..judging.detector import StuckDetector
from ..judging.early_stop import Watched, watches
from ..wire.dialects.arguments import fit, misfit
from ._checks import Judges, assess
from ._prompts import (
    HelpCase,
    advice_request,
    calls_again,
    data_section,
    packaged_prompt,
    request_in_place,
    with_note,
)
from ._turn import CheckResult, Draft, Helping, Turn

CALLS_AGAIN = "it only makes calls again that have their results"
TRUSTED = Assessment(1.0, 0.0, stuck=False)
"""What is made of a helper's answer that is taken as it is."""
_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*?)```", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Candidate:
    """An answer and what the detector makes of it.

    `attempt` counts the model's own from 1; `silence` is the error of one that brought no answer at all, `misfit` what
    is wrong with the form of one that did, `again`: it only makes calls once more that have their results. `ballot` is
    what it comes down to among several, `verified` what running has shown of it.
    """

    draft: Draft
    judged: Assessment
    silence: ProviderError | None = None
    misfit: str = ""
    again: bool = False
    ballot: Ballot | None = None
    verified: tuple[CheckResult, ...] = ()
    attempt: int = 0

    @property
    def rank(self) -> tuple[bool, bool, bool, bool, float]:
        """By quality; what fails a hard check comes after all others, then calls made again, what is cut, and nothing.

        So no answer is given up for a call whose result is there already: who runs the tools would never get out.
        """
        return not self.silence, not self.draft.cut, not self.again, not self.judged.at_once, self.judged.quality


async def draft_or_silence(
    turn: Turn, client: ModelClient, request: ModelRequest
) -> tuple[Draft, ProviderError | None]:
    """Returns what the primary answers; that it answers nothing, or declines, is the poorest of answers."""
    try:
        return await turn.request_draft(client, request), None
    except (EmptyAnswer, Refused) as error:
        return Draft(ModelResponse(assistant(error.partial), usage=NOTHING_USED), NOTHING_USED), error


def hopeless(signal: str, reason: str) -> Assessment:
    """Returns the judgement of an answer that no further look is needed at."""
    return Assessment(0.0, 1.0, True, {signal: 1.0}, reason, at_once=True)


class TurnCounter(Protocol):
    """A detector that wants to know how often there is help."""

    def record_turn(self, *, stuck: bool) -> None: ...


def _counts_turns(detector: Judges) -> TypeGuard[TurnCounter]:
    return hasattr(detector, "record_turn")


class Attempts:
    """The attempts of `primary` at one request, and what helpers put in their place: the best one is kept.

    `before` is one from before help that came in an earlier step of the turn. Own ones are judged as answers to the
    request as it came, with the tools that the model has of its own.
    """

    def __init__(
        self,
        primary: ModelClient,
        detector: Judges,
        turn: Turn,
        request: ModelRequest,
        before: Candidate | None = None,
    ) -> None:
        self.turn = turn
        self.request = request
        self.detector = detector
        self.count = 0
        self._tools = () if request.tool_choice == "none" else request.tools or primary.offered_tools
        self._known = request if self._tools == request.tools else replace(request, tools=self._tools)
        self._primary = primary
        self._best: Candidate | None = None
        self._before = before
        self._after: Candidate | None = None
        self._failed = False

    @property
    def best(self) -> Candidate:
        if self._best is None:
            raise LookupError("nothing was tried yet")
        return self._best

    @property
    def stuck(self) -> bool:
        return self.best.judged.stuck

    @property
    def case(self) -> HelpCase:
        """What a helper may be told."""
        if self._best is None:
            return HelpCase(self.request, tools=self._tools)
        judged = self.best.judged
        return HelpCase(self.request, self.best.draft.response, judged.reason, self._tools, judged.report, judged.fact)

    async def try_alone(self) -> None:
        """Try until an answer is good enough, `max_retries` times at most, and not again where that can't help.

        An answer of a wrong form goes back once in any case.
        """
        await self._attempt(self.request, self.primary)
        if self.best.misfit:
            await self._object()
        while self._may_try_again:
            await self._object()
        self.record_turn()

    def record_turn(self) -> None:
        """Tell a detector that holds a rate of help whether its share of this turn is due."""
        if _counts_turns(self.detector):
            self.detector.record_turn(stuck=self.stuck)

    @property
    def _may_try_again(self) -> bool:
        is_left = self.count < self.detector.max_retries and not self._failed
        return is_left and self.stuck and not self.best.judged.at_once

    async def try_again(self, prompt: str, **values: str) -> None:
        """Make one more attempt, with the packaged `prompt` as a note; where it fails, what there is stands."""
        note = packaged_prompt(prompt, attempt=self.case.attempt_section, **values)
        try:
            await self._attempt(with_note(self.request, note), self.primary)
        except ProviderError as error:
            self._failed = True
            await self.turn.emit(Warned(f"Another attempt failed, so the one before it stands: {error}"))

    async def accept_best(self) -> ModelResponse:
        """Accept the best answer; where all own ones were cut short, one that is not.

        Raises what kept the model from answering.
        """
        is_cut = self.best.draft.cut and self.best.draft.role == "own"
        last = await self._attempt(self.request, self._primary) if is_cut else self.best
        if last.silence:
            raise last.silence
        if self._before and self._after:
            quality = None if self._after.judged is TRUSTED else self._after.judged.quality
            is_replaced = self.best is not self._before
            await self.turn.emit(AnswersCompared(self._before.judged.quality, quality, is_replaced))
        return await self.turn.accept(self.best.draft)

    async def put_in_place(self, candidate: Candidate) -> None:
        """Give the best answer up for that of somebody else."""
        dropped, self._best = self._best, candidate
        if dropped:
            self._note_help(dropped, candidate)
            await self._drop(dropped)

    async def _object(self) -> None:
        await self.try_again("again", reason=self.case.reason)

    async def _attempt(self, request: ModelRequest, client: ModelClient) -> Candidate:
        return await self.judge(*await draft_or_silence(self.turn, client, request))

    async def judge(self, draft: Draft, silence: ProviderError | None = None) -> Candidate:
        """Count an attempt, and keep the better one of it and the best so far; of equals the later one."""
        self.count += 1
        tried = replace(await self._candidate(draft, silence), attempt=self.count)
        if tried.judged.stuck:
            await self.turn.emit(stuck_found(tried.judged, self.count))
        worse, self._best = self._best, tried
        self._note_help(worse, tried)
        if worse and worse.rank > tried.rank:
            worse, self._best = tried, worse
        if worse:
            await self._drop(worse)
        return tried

    def _note_help(self, before: Candidate | None, after: Candidate) -> None:
        """Keep the best answer from before any help, and the newest since."""
        if self.turn.has_help:
            self._before = self._before or before
        self._after = after if self._before else None

    async def _candidate(self, draft: Draft, silence: ProviderError | None) -> Candidate:
        if silence:
            return Candidate(draft, hopeless("silence", str(silence)), silence)
        if draft.cut:
            return Candidate(draft, hopeless("cut_short", draft.cut))
        if misfit := " ".join(_misfits(self.request, draft.response)):
            return Candidate(draft, hopeless("misfit", misfit), misfit=misfit)
        again = calls_again(self._known, draft.response)
        return Candidate(draft, await assess(self.detector, self.turn, self._known, draft), again=again)

    @property
    def primary(self) -> ModelClient:
        """The model, cut short where its answer is hopeless and somebody can help."""
        if watches(self.detector) and self.turn.may_ask:
            return Watched(self._primary, self.detector, self._known)
        return self._primary

    async def _drop(self, dropped: Candidate) -> None:
        """Tells listeners that an answer is dropped, unless nothing came."""
        if not dropped.silence:
            reason = dropped.judged.reason or "another attempt was better"
            await self.turn.drop(dropped.draft, reason, dropped.attempt)


def stuck_found(judged: Assessment, attempt: int = 1) -> StuckFound:
    return StuckFound(judged.quality, judged.gain, judged.reason, judged.signals, attempt)


Help = Callable[[Attempts, ModelClient], Awaitable[object]]
"""One step of help for a model that is stuck: asks the helper, and leaves what comes of it with the attempts."""


class Strategy(ModelClient):
    """A model and those that it is helped by; one that is not there is None."""

    def __init__(self, primary: ModelClient, *others: ModelClient | None, helping: Helping | None = None) -> None:
        if any(each is primary for each in others):
            raise ConfigError("A model can't help itself: primary and secondary are one client; give two.")
        self.primary = primary
        self.helping = helping or Helping()
        self._clients = (primary, *filter(None, others))

    @property
    def offered_tools(self) -> tuple[ToolSpec, ...]:
        return self.primary.offered_tools

    async def aclose(self) -> None:
        """Close all of them, also where one fails to."""
        async with AsyncExitStack() as stack:
            for client in reversed(self._clients):
                stack.push_async_callback(client.aclose)


class HelpedModel(Strategy):
    """`primary` answers; while its best attempt is stuck, `secondary` helps in these steps; the best is the answer."""

    def __init__(
        self,
        name: str,
        primary: ModelClient,
        secondary: ModelClient,
        steps: tuple[Help, ...],
        detector: Judges | None = None,
        helping: Helping | None = None,
    ) -> None:
        super().__init__(primary, secondary, helping=helping)
        self.secondary = secondary
        self.detector = detector or StuckDetector()
        self._name = name
        self._steps = steps

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        attempts = Attempts(self.primary, self.detector, Turn(self._name, self.helping, emit), request)
        await attempts.try_alone()
        for help_ in self._steps:
            if attempts.stuck:
                await help_(attempts, self.secondary)
        return await attempts.accept_best()


@dataclass(frozen=True, slots=True)
class Advice:
    """Words of a helper for one more attempt.

    `prompt` asks for them, `note` puts them to the model, both packaged, and `tag` marks them. `read` is what they
    come down to: nothing where nothing is to be changed. Of words that `max_tokens` cut off nothing is made.
    """

    prompt: str = "advice_request"
    note: str = "advice"
    tag: str = "advice"
    max_tokens: int | None = None
    read: Callable[[str], str] = str.strip

    async def __call__(self, attempts: Attempts, helper: ModelClient) -> bool:
        """Returns whether the helper said anything of use."""
        turn, most = attempts.turn, self.max_tokens
        options = {} if most is None else {"max_tokens": most}
        request = advice_request(self.prompt, attempts.case, turn.helping.sees, **options)
        draft = await turn.ask(helper, request, attempts.case.reason)
        words = self.read(draft.text) if draft else ""
        if draft and words and most is not None and draft.response.stop == "length":
            await turn.report_failure(f"its {self.tag} was cut off after {most} tokens")
        elif words:
            await attempts.try_again(self.note, advice=data_section(self.tag, words))
        return bool(draft)


async def take_over(attempts: Attempts, helper: ModelClient) -> bool:
    """Put the helper's answer in the place of the best attempt; False where it has none."""
    answer = await answer_in_place(attempts.turn, helper, attempts.case)
    if answer:
        await attempts.put_in_place(Candidate(answer, TRUSTED))
    return bool(answer)


async def answer_in_place(turn: Turn, helper: ModelClient, case: HelpCase) -> Draft | None:
    """Returns the helper's answer; None where it has none, or turns an answer back into the calls that led to it."""
    answer = await turn.ask(helper, request_in_place(case, turn.helping.sees), case.reason)
    if answer and case.calls_again(answer.response):
        await turn.drop(answer, CALLS_AGAIN)
        await turn.report_failure(CALLS_AGAIN)
        return None
    return answer


def _misfits(request: ModelRequest, response: ModelResponse) -> Iterator[str]:
    """Yields what a model has to mend before anybody can use its answer: tool calls fit their schemas, JSON its own."""
    if response.tool_calls and request.tools:
        for call in response.tool_calls:
            yield from _call_misfits(call, request)
    elif request.output_schema is not None and response.text.strip():  # a call alone, or nothing, is judged elsewhere
        yield from _json_misfits(response.text, request.output_schema)


def _call_misfits(call: ToolCall, request: ModelRequest) -> Iterator[str]:
    tools = {tool.name: tool for tool in request.tools}
    if call.name not in tools:
        yield f"There is no tool {call.name!r}{near(call.name, list(tools))}"
    elif call.malformed:
        yield f"The arguments of {call.name} are no JSON object: {call.malformed[:200]}"
    elif problems := fit(call.arguments, tools[call.name].schema).problems:
        yield misfit(call.name, tools[call.name].schema, problems)


def _json_misfits(text: str, schema: Any) -> Iterator[str]:
    """Yields what is wrong with the JSON that a text is, or that stands in its one code block."""
    blocks = _FENCED.findall(text)
    try:
        value = json.loads(blocks[0] if len(blocks) == 1 else text, strict=False)
    except (ValueError, RecursionError) as error:
        yield f"The answer is no JSON: {error}"
        return
    if problems := fit({"answer": value}, {"type": "object", "properties": {"answer": schema}}).problems:
        yield f"The JSON does not fit its schema: {'; '.join(problems)}"
