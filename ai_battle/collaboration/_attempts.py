"""The loop of pairs: a model drafts, its answer is judged, helpers are asked while it is stuck, the best is served."""

import json
import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Any

from ..core.client import ModelClient, require_client
from ..core.errors import ConfigError, ContextTooLong, EmptyAnswer, ProviderError, Refused
from ..core.events import Emit, Warned, ignore
from ..core.exchange import NOTHING_USED, ModelRequest, ModelResponse, ToolSpec
from ..core.helping import AnswersCompared, StuckFound
from ..core.messages import ToolCall, assistant
from ..core.plugins import near
from ..judging.agreement import Ballot
from ..judging.assessment import Assessment
from ..judging.detector import StuckDetector
from ..judging.early_stop import Watched, watches
from ..wire.dialects.arguments import arguments_error, fit
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
"""The assessment of a helper's answer that is taken unchecked."""
_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*?)```", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Candidate:
    """An answer with the detector's assessment.

    `attempt` counts the model's own answers from 1. `silence` is the error if there was no answer; `form_problem`
    says what is wrong with the answer's form; `again` is true if it only repeats calls that have results. `ballot` is
    what it comes down to in a vote; `verified` holds what running code has shown.
    """

    draft: Draft
    judged: Assessment
    silence: ProviderError | None = None
    form_problem: str = ""
    again: bool = False
    ballot: Ballot | None = None
    verified: tuple[CheckResult, ...] = ()
    attempt: int = 0

    @property
    def rank(self) -> tuple[bool, bool, bool, bool, float]:
        """The key by which candidates are compared, mostly by quality.

        Answers that fail a hard check come after all others, then repeated calls, then cut answers, then none at all.
        So no answer is given up for a call that has its result already, which would keep the tool loop going for ever.
        """
        return not self.silence, not self.draft.cut, not self.again, not self.judged.at_once, self.judged.quality


async def draft_or_silence(
    turn: Turn, client: ModelClient, request: ModelRequest
) -> tuple[Draft, ProviderError | None]:
    """Returns the primary's answer; an empty or refused one becomes an empty draft with its error.

    So does none because the request is too long for the primary, unless the caller can shorten it.
    """
    try:
        return await turn.request_draft(client, request), None
    except (ContextTooLong, EmptyAnswer, Refused) as error:
        if isinstance(error, ContextTooLong) and request.wants.can_shorten:
            raise
        return Draft(ModelResponse(assistant(error.partial), usage=NOTHING_USED), NOTHING_USED), error


def hopeless(signal: str, reason: str) -> Assessment:
    """Returns the assessment of an answer that needs no further check."""
    return Assessment(0.0, 1.0, True, {signal: 1.0}, reason, at_once=True)


def hopeless_candidate(request: ModelRequest, draft: Draft, silence: ProviderError | None) -> Candidate | None:
    """Returns the candidate of an answer that needs no further check; None if it does."""
    if silence:
        return Candidate(draft, hopeless("silence", str(silence)), silence)
    if draft.cut:
        return Candidate(draft, hopeless("cut_short", draft.cut))
    if form_problem := find_form_problem(request, draft.response):
        return Candidate(draft, hopeless("misfit", form_problem), form_problem=form_problem)
    return None


class Attempts:
    """The attempts of `primary` at one request, and helpers' answers in their place; only the best is kept.

    `before` is a candidate from before help in an earlier step of the turn. The model's own attempts are judged against
    the request as it came, with the tools that the model has of its own.
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
    def is_too_long(self) -> bool:
        """True if the request does not fit the model's window; advice would only make it longer."""
        return isinstance(self.best.silence, ContextTooLong)

    @property
    def case(self) -> HelpCase:
        """The case as a helper is shown it."""
        if self._best is None:
            return HelpCase(self.request, tools=self._tools)
        judged = self.best.judged
        return HelpCase(self.request, self.best.draft.response, judged.reason, self._tools, judged.report, judged.fact)

    async def try_alone(self) -> None:
        """Tries until an answer is good enough, at most `max_retries` times, and stops earlier if retrying can't help.

        An answer of the wrong form gets one more attempt in any case.
        """
        await self._attempt(self.request, self.primary)
        if self.best.form_problem:
            await self._object()
        while self._may_try_again:
            await self._object()
        self.record_turn()

    def record_turn(self) -> None:
        """Reports the turn to a detector that holds a rate of help."""
        if isinstance(self.detector, StuckDetector):
            self.detector.record_turn(stuck=self.stuck)

    @property
    def _may_try_again(self) -> bool:
        is_left = self.count < self.detector.max_retries and not self._failed
        return is_left and self.stuck and not self.best.judged.at_once

    async def try_again(self, prompt: str, **values: str) -> None:
        """Makes one more attempt with the packaged `prompt` as a note. If it fails, the best attempt so far stays."""
        note = packaged_prompt(prompt, attempt=self.case.attempt_section, **values)
        try:
            await self._attempt(with_note(self.request, note), self.primary)
        except ProviderError as error:
            self._failed = True
            await self.turn.emit(Warned(f"Another attempt failed, so the one before it stands: {error}"))

    async def accept_best(self) -> ModelResponse:
        """Accepts the best answer. If all own answers were cut short, it asks once more without cutting.

        Raises the error that kept the model from answering.
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
        """Replaces the best answer by another model's."""
        dropped, self._best = self._best, candidate
        if dropped:
            self._note_help(dropped, candidate)
            await self._drop(dropped)

    async def _object(self) -> None:
        await self.try_again("second_attempt", reason=self.case.reason)

    async def _attempt(self, request: ModelRequest, client: ModelClient) -> Candidate:
        return await self.judge(*await draft_or_silence(self.turn, client, request))

    async def judge(self, draft: Draft, silence: ProviderError | None = None) -> Candidate:
        """Counts an attempt and keeps the better of it and the best so far; of equals the later one."""
        self.count += 1
        tried = replace(await self._candidate(draft, silence), attempt=self.count)
        if tried.judged.stuck:
            await self.turn.emit(stuck_event(tried.judged, self.count))
        worse, self._best = self._best, tried
        self._note_help(worse, tried)
        if worse and worse.rank > tried.rank:
            worse, self._best = tried, worse
        if worse:
            await self._drop(worse)
        return tried

    def _note_help(self, before: Candidate | None, after: Candidate) -> None:
        """Keeps the best answer from before any help, and the newest since."""
        if self.turn.has_help:
            self._before = self._before or before
        self._after = after if self._before else None

    async def _candidate(self, draft: Draft, silence: ProviderError | None) -> Candidate:
        if lost := hopeless_candidate(self.request, draft, silence):
            return lost
        again = calls_again(self._known, draft.response)
        return Candidate(draft, await assess(self.detector, self.turn, self._known, draft), again=again)

    @property
    def primary(self) -> ModelClient:
        """The model, cut short when its answer is hopeless, as long as a helper may be asked."""
        if watches(self.detector) and self.turn.may_ask:
            return Watched(self._primary, self.detector, self._known)
        return self._primary

    async def _drop(self, dropped: Candidate) -> None:
        """Tells listeners that an answer is dropped, unless there was none."""
        if not dropped.silence:
            reason = dropped.judged.reason or "another attempt was better"
            await self.turn.drop(dropped.draft, reason, dropped.attempt)


def stuck_event(judged: Assessment, attempt: int = 1) -> StuckFound:
    return StuckFound(judged.quality, judged.gain, judged.reason, judged.signals, attempt)


Help = Callable[[Attempts, ModelClient], Awaitable[object]]
"""One step of help for a stuck model: asks the helper, and leaves the result with the attempts."""


class Strategy(ModelClient):
    """A model with its helpers; a helper that is not there is None."""

    def __init__(self, primary: ModelClient, *others: ModelClient | None, helping: Helping | None = None) -> None:
        if any(each is primary for each in others):
            raise ConfigError("A model can't help itself: primary and secondary are one client; give two.")
        self.primary = primary
        self.helping = helping or Helping()
        self._clients = (primary, *filter(None, others))

    @property
    def offered_tools(self) -> tuple[ToolSpec, ...]:
        return self.primary.offered_tools

    def require_primary(self) -> None:
        """Raises the primary's error if it is known to be out, before others are paid for what it can't use."""
        if error := self.primary.known_outage:
            raise error

    async def aclose(self) -> None:
        """Closes all clients, even if one of them fails to close."""
        async with AsyncExitStack() as stack:
            for client in reversed(self._clients):
                stack.push_async_callback(client.aclose)


class HelpedModel(Strategy):
    """Lets `primary` answer; while its best attempt is stuck, `secondary` helps in these steps; the best is served."""

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
        require_client(primary, f"The primary model of {name}")
        require_client(secondary, f"The secondary model of {name}")
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
    """A helper's words for one more attempt.

    The packaged prompt `prompt` asks for them and `note` shows them to the model; `tag` marks them as data. `read`
    extracts the words to show; none means that nothing has to change. Words that `max_tokens` cut off are not used.
    """

    prompt: str = "advice_request"
    note: str = "advice"
    tag: str = "advice"
    max_tokens: int | None = None
    read: Callable[[str], str] = str.strip

    async def __call__(self, attempts: Attempts, helper: ModelClient) -> bool:
        """Asks for advice and tries again with it; returns whether the helper's reply was usable.

        A request that is too long for the model is answered by the helper instead.
        """
        if attempts.is_too_long:
            return await take_over(attempts, helper)
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
    """Replaces the best attempt by the helper's answer; returns False if there is none."""
    answer = await answer_in_place(attempts.turn, helper, attempts.case)
    if answer:
        await attempts.put_in_place(Candidate(answer, TRUSTED))
    return bool(answer)


async def answer_in_place(turn: Turn, helper: ModelClient, case: HelpCase) -> Draft | None:
    """Returns the helper's answer; None if there is none, or if it only repeats the calls that led to an answer."""
    answer = await turn.ask(helper, request_in_place(case, turn.helping.sees), case.reason)
    if answer and case.calls_again(answer.response):
        await turn.refuse(answer, CALLS_AGAIN)
        return None
    return answer


def find_form_problem(request: ModelRequest, response: ModelResponse) -> str:
    """Returns what is wrong with the form of an answer, calls or JSON; empty if nothing is."""
    return " ".join(_form_problems(request, response))


def _form_problems(request: ModelRequest, response: ModelResponse) -> Iterator[str]:
    """Yields what makes an answer unusable until the model corrects it: calls or JSON that don't fit their schemas."""
    if response.tool_calls and request.tools:
        for call in response.tool_calls:
            yield from _call_problems(call, request)
    elif request.output_schema is not None and response.text.strip():  # answers without text are judged elsewhere
        yield from _json_problems(response.text, request.output_schema)


def _call_problems(call: ToolCall, request: ModelRequest) -> Iterator[str]:
    tools = {tool.name: tool for tool in request.tools}
    if call.name not in tools:
        yield f"There is no tool {call.name!r}{near(call.name, list(tools))}"
    elif call.malformed:
        yield f"The arguments of {call.name} are not a JSON object: {call.malformed[:200]}"
    elif problems := fit(call.arguments, tools[call.name].schema).problems:
        yield arguments_error(call.name, tools[call.name].schema, problems)


def _json_problems(text: str, schema: Any) -> Iterator[str]:
    """Yields what is wrong with the JSON of a text, or of its only code block."""
    blocks = _FENCED.findall(text)
    try:
        value = json.loads(blocks[0] if len(blocks) == 1 else text, strict=False)
    except (ValueError, RecursionError) as error:
        yield f"The answer is not JSON: {error}"
        return
    if problems := fit({"answer": value}, {"type": "object", "properties": {"answer": schema}}).problems:
        yield f"The JSON does not fit its schema: {'; '.join(problems)}"
