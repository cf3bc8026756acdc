"""The boost loop: a model without tools plans, or answers at once; a model with tools carries out the plan."""

from dataclasses import replace
from pathlib import Path
from time import monotonic

from ..core.client import ModelClient
from ..core.errors import ConfigError, ContextTooLong, CutShort, ProviderError, failure_kind
from ..core.events import AttemptFailed, DraftDelta, Emit, Event, TextDelta, ToolCallDelta, ignore
from ..core.exchange import ModelRequest, ModelResponse, Stop
from ..core.helping import BoostStep
from ..core.messages import Text
from ..core.tooling import ToolCalled
from ..core.traits import CalledModel, StrategyTraits
from ..signals.invention import unsupported_claim
from ..signals.refusals import refuses
from ._attempts import Strategy
from ._boost_prompt import HERE, BoostTemplate, FailedPlan, has_new_results, plan_request
from ._boost_reply import GuidanceReply, OtherReply, PlanReader, PlanReply, SummaryReply, is_plan, parse
from ._prompts import packaged_prompt, with_note
from ._turn import Draft, DraftListener, Helping, Turn
from ._wrappers import AnswerStream, StreamedReply

TRAITS = StrategyTraits(
    models={"secondary": CalledModel("once in each turn, and up to two times more", "each turn", "boost")}, plans=True
)
DEFAULT_TIMEOUT = 60.0
"""The default time limit for all attempts of the boost model at one request."""
NO_FORMAT = "It has neither a SUMMARY nor a GUIDANCE section."
NO_TOOL = "The auxiliary model was given this guidance and called no tool."
TOO_LONG = "This conversation is too long for the auxiliary model. Answer the request yourself, with a SUMMARY."
MUST_CALL = "The request demands that a tool is called, so a SUMMARY can't be its answer."


class BoostLoop(Strategy):
    """Shows `boost` each request first, with the tools as text; `auxiliary` gets its guidance and the real tools.

    A reply in none of the formats, or guidance that leads to no tool call, is tried again, up to `max_loops` times in
    all. If `boost` brings nothing usable, `auxiliary` answers alone. `template` is a text with a place for the
    request, or a path relative to `base`. `helping` has the terms on which `boost` is asked; its timeout covers all.
    """

    def __init__(
        self,
        boost: ModelClient,
        auxiliary: ModelClient,
        max_loops: int = 3,
        template: str = "",
        helping: Helping | None = None,
        base: Path = HERE,
    ) -> None:
        if max_loops < 1:
            raise ConfigError(f"max_loops counts the rounds of boost, 1 or more, not {max_loops!r}.", "max_loops")
        super().__init__(auxiliary, boost, helping=helping)
        self.boost = boost
        self.max_loops = max_loops
        self.template = BoostTemplate.read(template, base)

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        turn = BoostTurn(self, request, emit)
        if turn.tools:  # else a SUMMARY may be the answer
            self.require_primary()
        try:
            return await self._answer(turn)
        except ContextTooLong as error:
            return await turn.answer_as_planner(error)

    async def _answer(self, turn: "BoostTurn") -> ModelResponse:
        for _ in range(self.max_loops):
            match await turn.request_plan():
                case SummaryReply(text):
                    return await turn.answer(text)
                case GuidanceReply() as guidance:
                    if response := await turn.carry_out(guidance):
                        return response
                case None:
                    return await turn.answer_directly()
        return await turn.answer_best()


class BoostTurn:
    """The state of a request, whose `tools` may be called: the plans that led to nothing, and the answers to them."""

    def __init__(self, loop: BoostLoop, request: ModelRequest, emit: Emit) -> None:
        self._loop = loop
        self._request = request
        self._emit = emit
        self.tools = () if request.tool_choice == "none" else request.tools or loop.primary.offered_tools
        self._must_call = bool(self.tools) and request.tool_choice != "auto"
        self._text_will_do = not self.tools or has_new_results(request)
        self._turn = Turn("boost", loop.helping, emit)
        self._seconds = DEFAULT_TIMEOUT if loop.helping.timeout is None else loop.helping.timeout
        self._stream = AnswerStream(emit, "boost")
        self._planned: list[Draft] = []
        self._failed: list[FailedPlan] = []
        self._answers: list[Draft] = []

    async def request_plan(self) -> PlanReply | None:
        """Returns the boost model's reply; None if it is unusable."""
        if not (planned := await self._request_reply()):
            await self._stream.take_back(self._turn.failure)
            await self._emit(BoostStep(len(self._failed), "fallback", self._turn.failure))
            return None
        reply, why = parse(planned.text), NO_FORMAT
        if isinstance(reply, SummaryReply) and self._must_call:
            reply, why = OtherReply(planned.text), MUST_CALL
        await self._emit(BoostStep(len(self._failed), reply.outcome, planned.text))
        self._planned.append(planned)
        if isinstance(reply, OtherReply):
            self._failed.append(FailedPlan(planned.text, why))
            await self._turn.drop(planned, why)
        return reply

    async def answer(self, summary: str) -> ModelResponse:
        """Accepts the boost model's own answer."""
        draft = self._planned[-1]
        message = replace(draft.response.message, parts=(Text(summary),))
        stop: Stop = "end" if draft.response.stop == "tool_calls" else draft.response.stop
        response = replace(draft.response, message=message, stop=stop)
        return await self._accept(replace(draft, response=response), self._stream)

    async def carry_out(self, plan: GuidanceReply) -> ModelResponse | None:
        """Returns the auxiliary model's answer to the guidance; None if it ignores the guidance."""
        analysis = f"ANALYSIS:\n{plan.analysis}\n\n" if plan.analysis else ""
        note = packaged_prompt("boost_plan", plan=f"{analysis}GUIDANCE:\n{plan.guidance}")
        listener = ExecutionListener(self._emit, is_answer=self._text_will_do)
        try:
            draft = await self._execute(with_note(self._request, note), listener)
        except ContextTooLong:
            if self._request.wants.can_shorten:
                raise
            self._failed.append(FailedPlan(self._planned[-1].text, TOO_LONG))
            return None
        if not draft:
            return await self.answer_best()
        if self._text_will_do or listener.has_called or draft.response.used_tools or draft.response.tool_calls:
            return await self._accept(draft, listener.stream)
        self._failed.append(FailedPlan(self._planned[-1].text, NO_TOOL, draft.text))
        if draft.text.strip():
            self._answers.append(draft)
        else:
            await self._turn.drop(draft, NO_TOOL)
        return None

    async def answer_directly(self) -> ModelResponse:
        """Accepts the auxiliary model's answer to the unchanged request."""
        listener = ExecutionListener(self._emit, is_answer=True)
        draft = await self._execute(self._request, listener)
        return await self._accept(draft, listener.stream) if draft else await self.answer_best()

    async def answer_as_planner(self, error: ContextTooLong) -> ModelResponse:
        """Accepts the boost model's answer, in whatever form, to a request that is too long for the auxiliary model.

        Raises the error if there is none, and if the caller can shorten the request or demands a call.
        """
        if self._request.wants.can_shorten or self._must_call or not self._planned:
            raise error
        self._failed.append(FailedPlan(self._planned[-1].text, TOO_LONG))
        planned = await self._request_reply()
        reply = parse(planned.text) if planned else None
        if planned is None or reply is None or isinstance(reply, GuidanceReply):
            raise error
        self._planned.append(planned)
        await self._emit(BoostStep(len(self._failed), "summary", planned.text))
        return await self.answer(reply.text)

    async def answer_best(self) -> ModelResponse:
        """Accepts the auxiliary model's best answer so far; without one, asks it without guidance."""
        if best := max(reversed(self._answers), key=self._answer_rank, default=None):
            return await self._accept(best, AnswerStream(self._emit, "boost"))
        await self._turn.report_failure("no reply of the boost model led to an answer: it was in none of the formats")
        return await self.answer_directly()

    def _answer_rank(self, answer: Draft) -> tuple[bool, bool]:
        """Ranks an answer; one that claims results no tool returned is worth less than others."""
        claim = unsupported_claim(answer.text, self.tools, (*self._request.messages, *answer.response.steps))
        return answer.response.stop in ("end", "stop_sequence"), not claim

    async def _request_reply(self) -> Draft | None:
        if self._seconds <= 0:
            await self._turn.report_failure("no time is left for another attempt", kind="timeout")
            return None
        loop, self._stream = self._loop, AnswerStream(self._emit, "boost")
        # If a tool must be called, a SUMMARY can't be the answer, so it must not be streamed as one.
        streamed = StreamedReply(loop.boost, self._stream, lambda: PlanReader().read_settled, hides_rest=False)
        planner = loop.boost if self._must_call else streamed
        request = plan_request(loop.template, self._request, self.tools, self._failed, loop.helping.sees)
        why = self._failed[-1].why if self._failed else "Each request is planned first."
        self._turn.helping = replace(loop.helping, timeout=self._seconds)
        started = monotonic()
        planned = await self._turn.ask(planner, request, why, "boost")
        self._seconds -= monotonic() - started
        if planned and planned.cut and self._stream.has_said:
            raise CutShort(planned.cut, planned.text)
        if planned and (problem := _why_unusable(planned.response)):
            await self._turn.refuse(planned, problem)
            return None
        return planned

    async def _execute(self, request: ModelRequest, listener: "ExecutionListener") -> Draft | None:
        """Asks the auxiliary model; returns None if it fails but has answered before."""
        try:
            response = await self._turn.request_answer(self._loop.primary, request, listener)
        except ProviderError as error:
            if not self._answers:
                raise
            await listener.stream.take_back(str(error))
            await self._turn.report_failure(f"the auxiliary model failed: {error}", kind=failure_kind(error))
            return None
        return listener.usage.draft(response)

    async def _accept(self, draft: Draft, stream: AnswerStream) -> ModelResponse:
        for other in self._answers:
            if other is not draft:
                await self._turn.drop(other, NO_TOOL)
        await stream.finish(draft.text)
        return replace(draft.response, usage=self._turn.usage)


class ExecutionListener:
    """Forwards the auxiliary model's events; its text is a draft until it calls a tool, or else the answer at once."""

    def __init__(self, emit: Emit, *, is_answer: bool) -> None:
        self.usage = DraftListener(ignore)
        self.stream = AnswerStream(emit, "boost")
        self.has_called = False
        self._emit = emit
        self._is_answer = is_answer
        self._draft: list[str] = []

    async def __call__(self, event: Event) -> None:
        await self.usage(event)
        match event:
            case AttemptFailed():
                self.has_called = False
                self.stream.forget()
                self._draft.clear()
            case ToolCallDelta() | ToolCalled():
                self.has_called = True
                await self.stream.say("".join(self._draft))
                self._draft.clear()
            case TextDelta(text) if self.has_called or self._is_answer:
                await self.stream.say(text)
                return
            case TextDelta(text):
                self._draft.append(text)
                event = DraftDelta(text)
        await self._emit(event)


def _why_unusable(planned: ModelResponse) -> str:
    """Returns why the auxiliary model should answer alone; empty if trying again may help."""
    text = planned.text
    if not text.strip():
        return "it answered only with tool calls, and has no tools"
    if is_plan(text):
        return ""
    if planned.stop == "length":
        return "it reached its length limit before a SUMMARY or GUIDANCE"
    return f"it declined to answer: {text.strip()[:200]}" if refuses(text) else ""


def create(
    primary: ModelClient,
    secondary: ModelClient,
    *,
    max_loops: int = 3,
    template: str = "",
    base: Path = HERE,
    helping: Helping | None = None,
) -> ModelClient:
    """Builds the loop of `primary`, which has the tools, and `secondary`, which plans."""
    return BoostLoop(secondary, primary, max_loops, template, helping, base)
