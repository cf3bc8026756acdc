"""Advisor: gives the small model a tool to ask the large one during its work, and forces a question in trouble.

The strategy wraps the model inside its tool client. So it sees each step of a turn, and advice is one result among
others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, count, repeat
from time import monotonic
from typing import Any

from ..core.client import ModelClient
from ..core.errors import ConfigError, ContextTooLong, EmptyAnswer, ProviderError
from ..core.events import Emit, ignore
from ..core.exchange import ModelRequest, ModelResponse, ToolSpec
from ..core.helping import HelpDeclined
from ..core.messages import Message, Part, Text, ToolCall, ToolResult
from ..core.tooling import ToolCalled, ToolReturned
from ..core.traits import CalledModel, StrategyTraits
from ..judging.assessment import Assessment
from ..judging.detector import StuckDetector
from ..judging.unfinished import EndOfWork, unfinished_work
from ._advice import (
    EMPTY_ADVICE,
    LONG_WORK,
    NAME,
    NO_ADVICE,
    NativelyAdvised,
    TurnRecord,
    advice_result,
    advisor_tool,
    native_entry,
    newest_trouble,
    parts_without_calls,
    tool_name,
    with_forced_calls_in_rounds,
    without_note,
    without_overcome,
)
from ._attempts import CALLS_AGAIN, Attempts, Candidate, Strategy, draft_or_silence, take_over
from ._checks import Judges
from ._prompts import HelpCase, consultation, excerpt
from ._turn import Draft, DraftListener, Helping, Turn

MAX_USES = 3
MAX_TOKENS = 1_024
MOST_IN_A_ROW, MOST_DECLINED, MOST_FAILED = 2, 5, 2
"""How many questions without work in between, and how many declined ones, withdraw the tool.

A model that still calls it is refused as often again. After so many failures no question is forced.
"""
TRAITS = StrategyTraits(
    models={
        "secondary": CalledModel("when {name} asks, or is in trouble", "unknown", max_tokens=MAX_TOKENS),
        "models": CalledModel("when {name} asks it by name", "unknown", max_tokens=MAX_TOKENS),
    },
    each_step=True,
)
NO_TOOL: Mapping[str, Any] = {}
ONLY_CALLS = "it answered with nothing but calls of tools"


@dataclass(frozen=True, slots=True)
class NamedAdvisor:
    """An advisor, with the name by which the small model chooses it and its purpose."""

    name: str
    purpose: str
    client: ModelClient


@dataclass(frozen=True, slots=True)
class AdviceTerms:
    """How often advice is given in one turn, how long it may be, and whether advisors may use tools for it.

    `max_forced` is how many poor answers of a turn force advice; with 0 there is only advice that the model asks for,
    and nothing is judged. With `decline_needless`, a question is declined if nothing in the work gives a reason for it.
    `caching` is how long a provider is asked to cache what it was sent: "5m", "1h", or empty for not at all.
    """

    max_uses: int = MAX_USES
    max_tokens: int = MAX_TOKENS
    max_forced: int = 1
    use_tools: bool = False
    decline_needless: bool = True
    caching: str = ""

    def __post_init__(self) -> None:
        if self.caching not in ("", "5m", "1h"):
            raise ConfigError(f"caching of advisor is 5m or 1h, not {self.caching!r}.", "caching")
        for name, value in (("max_uses", self.max_uses), ("max_tokens", self.max_tokens)):
            if value < 1:
                raise ConfigError(f"{name} of advisor is 1 or more, not {value!r}; take the pair away for none.", name)


class AdvisedModel(Strategy):
    """Gives `primary` a tool that asks one of `advisors`; the first is asked on its behalf if its work goes wrong.

    Earlier advice is remembered only in the messages, as calls and results like those of all tools.
    """

    def __init__(
        self,
        primary: ModelClient,
        advisors: Sequence[NamedAdvisor],
        terms: AdviceTerms | None = None,
        detector: Judges | None = None,
        helping: Helping | None = None,
    ) -> None:
        super().__init__(primary, *(each.client for each in advisors), helping=helping)
        if primary.offered_tools:
            raise ConfigError(
                "advisor goes between a model and its tools: ToolCapableClient(advisor.create(model, ...), tools)."
            )
        self.advisors = {each.name: each for each in advisors}
        if len(self.advisors) < len(advisors):
            raise ConfigError("two advisors have one name; the small model chooses by it.", "models")
        self.terms = terms or AdviceTerms()
        self.detector = detector or StuckDetector()
        self.share = self.detector if isinstance(self.detector, StuckDetector) else StuckDetector()
        self._use = self.helping.new_use()
        self.before: Candidate | None = None

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        if request.tool_choice == "none":
            return await self.primary.complete(request, emit)
        if HelpCase(request).place == len(request.messages) - 1:  # the prompt comes last only in a turn's first request
            self._use, self.before = self.helping.new_use(), None
            self.share.count_turn()
        step = AdvisedStep(self, Turn(NAME, self.helping, emit, self._use), request)
        if self.terms.max_forced:
            await step.meet_trouble()
        return await step.answer()

    @property
    def helps_average(self) -> bool:
        """True if a turn of which nothing is known gets help, as when at least half of all turns should."""
        bounds = self.share.calibration or self.share
        return bounds.help_rate is None or bounds.help_rate >= 0.5

    def added_tools(self, others: Sequence[ToolSpec]) -> tuple[ToolSpec]:
        labels = tuple((each.name, each.purpose) for each in self.advisors.values())
        return (advisor_tool(tool_name(others), labels),)


class AdvisedStep:
    """One step of the model: it is asked until it answers or calls a tool other than its advisor."""

    def __init__(self, model: AdvisedModel, turn: Turn, request: ModelRequest) -> None:
        self._model = model
        self._turn = turn
        self._request = request
        self._steps: list[Message] = []
        self._forced = 0
        (self._tool,) = model.added_tools(request.tools)
        self._asked = without_note(request)
        self._place = HelpCase(self._asked).place
        self._prompt = "".join(message.text for message in self._asked.messages[self._place : self._place + 1])

    async def meet_trouble(self) -> None:
        """Forces a question before the model continues, if the newest result shows that its work goes wrong."""
        reason = newest_trouble(self._record.steps)
        if reason and self._may_advise:
            await self._consult(self._new_call(), (), reason)
            self._attempts = self._new_attempts()

    async def answer(self) -> ModelResponse:
        """Returns the step's answer, after all advice that the model asks for or is given."""
        while True:
            draft, silence = await self._request_draft()
            if response := await self._settle(draft, silence):
                return replace(response, steps=(*self._steps, *response.steps))

    async def _request_draft(self) -> tuple[Draft, ProviderError | None]:
        request = self._next_request()
        if self._model.terms.max_forced:
            return await draft_or_silence(self._turn, self._attempts.primary, request)
        listener = DraftListener(self._turn.emit, drafts=request.wants.drafts)
        return listener.draft(await self._turn.request_answer(self._model.primary, request, listener)), None

    async def _settle(self, draft: Draft, silence: ProviderError | None) -> ModelResponse | None:
        """Returns the answer of the step; None if the model has to continue after a question."""
        question = next((call for call in draft.response.tool_calls if call.name == self._tool.name), None)
        if question and self._record.in_a_row < 2 * MOST_IN_A_ROW:
            # Drop other calls made together with the question, because the advice may change what is to be done.
            await self._consult(self._with_id(question), parts_without_calls(draft.response), "", self._objection)
            return None
        if question:
            silence = EmptyAnswer("The model only asked for advice, and gave no answer.")
        if isinstance(silence, ContextTooLong):  # advice would make it only longer
            await self._attempts.judge(draft, silence)
            await take_over(self._attempts, next(iter(self._model.advisors.values())).client)
            return await self._attempts.accept_best()
        if self._model.terms.max_forced:
            return await self._judge(draft, silence)
        if silence:
            raise silence
        return await self._turn.accept(draft)

    async def _judge(self, draft: Draft, silence: ProviderError | None) -> ModelResponse | None:
        """Returns an answer that is good enough; None after a forced question."""
        if draft.response.tool_calls and not silence:
            return None if await self._break_circle(draft) else await self._turn.accept(draft)
        return None if await self._force_question(draft, silence) else await self._attempts.accept_best()

    @cached_property
    def _attempts(self) -> Attempts:
        return self._new_attempts()

    def _new_attempts(self) -> Attempts:
        """Returns attempts judged by the work since the last advice, without trouble from before it.

        Advice itself is left out, because it is not a finding of a tool.
        """
        messages = without_overcome((*self._asked.messages, *self._steps), self._tool.name)
        judged = replace(self._asked, messages=messages)
        return Attempts(self._model.primary, self._model.detector, self._turn, judged, self._model.before)

    def _next_request(self) -> ModelRequest:
        tools = (*self._request.tools, self._tool) if self._is_offered else self._request.tools
        messages = self._messages
        if self._model.terms.max_forced:
            messages = with_forced_calls_in_rounds(messages, self._tool.name)
        choice = self._request.tool_choice
        if self._steps and choice in ("required", self._tool.name):
            choice = "auto"  # the required call has been made
        return replace(self._request, messages=messages, tools=tools, tool_choice=choice)

    async def _break_circle(self, draft: Draft) -> bool:
        """Replaces calls that would bring nothing new by a question, and returns whether it did.

        Once they run it may be too late: the tool loop ends a turn that goes in a circle.
        """
        if not (self._may_advise and self._record.is_repeated_by(draft.response, self._request.tools)):
            return False
        await self._consult(self._new_call(), parts_without_calls(draft.response), CALLS_AGAIN)
        return True

    async def _force_question(self, draft: Draft, silence: ProviderError | None) -> bool:
        """Judges an answer and, if it is poor, adds a question as if the model had asked; returns whether it did."""
        judged = (await self._attempts.judge(draft, silence)).judged
        if self._attempts.count == 1:
            self._attempts.record_turn()
        if not (reason := self._reason_to_force(judged, draft)):
            return False
        self._forced += 1
        await self._consult(self._new_call(), parts_without_calls(draft.response), reason, report=judged.report)
        if self._turn.has_help:
            self._model.before = self._model.before or self._attempts.best
        if not judged.stuck:
            self._attempts = self._new_attempts()  # start over, or this answer, good by itself, would win as the best
        return True

    def _reason_to_force(self, judged: Assessment, draft: Draft) -> str:
        """Returns why a question is forced; empty if none is."""
        if draft.response.tool_calls or not self._may_advise or self._forced >= self._model.terms.max_forced:
            return ""
        return judged.reason if judged.stuck else self._doubt(draft)

    def _doubt(self, draft: Draft) -> str:
        """Returns why a good answer may not be the end of the work; empty right after advice."""
        record = self._record
        if not self._request.tools or (record.given and not record.work):
            return ""
        is_first = all(message.role != "assistant" for message in self._asked.messages[: self._place])
        return unfinished_work(EndOfWork(draft.text, self._prompt, record.done, self._request.tools, is_first))

    async def _consult(
        self, call: ToolCall, parts: Sequence[Part], forced: str, objection: str = "", report: str = ""
    ) -> None:
        """Adds a question to the steps with its result: advice, or why there is none."""
        self._steps.append(Message("assistant", (*parts, call)))
        await self._turn.emit(ToolCalled(call))
        started = monotonic()
        if objection:
            await self._turn.emit(HelpDeclined(NAME, objection))
        advice = "" if objection else await self._advice(call, forced, report)
        words = advice or (NO_ADVICE.format(objection) if objection else EMPTY_ADVICE)
        result = ToolResult(call, (Text(words),), is_error=not advice)
        await self._turn.emit(ToolReturned(result, monotonic() - started))
        self._steps.append(Message("tool", (result,)))
        del self._record  # the cached record lacks this question

    async def _advice(self, call: ToolCall, forced: str, report: str) -> str:
        """Returns the advice as the model is to read it; empty if it is unusable."""
        terms, question = self._model.terms, str(call.arguments.get("question") or "")
        advisors, named = self._model.advisors, str(call.arguments.get("advisor"))
        advisor = advisors[named if named in advisors else next(iter(advisors))]
        case = HelpCase(replace(self._request, messages=self._messages), reason=forced, report=report)
        sees, earlier = self._turn.helping.sees, self._earlier_advice
        request = consultation(case, sees, question, earlier, terms.max_tokens, terms.caching)
        request = replace(request, tool_choice="auto") if terms.use_tools else request
        self._model.share.count_help(first=not self._record.given)
        draft = await self._turn.ask(advisor.client, request, forced or excerpt(question, 200) or "the model asked")
        if draft and draft.text.strip():
            return advice_result(advisor.name, draft.text, self._notes(draft, forced))
        if draft:
            await self._turn.refuse(draft, ONLY_CALLS)
        return ""

    def _notes(self, draft: Draft, forced: str) -> str:
        """Returns notes on the advice: why it was forced, and whether it was cut off."""
        why = f" You did not ask for it; it was asked for because of this: {forced}" if forced else ""
        is_cut = draft.response.stop == "length"
        return why + (f" It was cut off after {self._model.terms.max_tokens} tokens." if is_cut else "")

    @property
    def _objection(self) -> str:
        """The reason to decline the model's question; empty if the advisor is asked."""
        record, terms = self._record, self._model.terms
        if record.given >= terms.max_uses:
            return f"all {record.given} uses of this turn are made"
        if record.in_a_row:
            return "nothing has come since the last question"
        if not (record.given or self._model.share.has_room):
            return "as many turns have had help as may"
        return self._lack_of_reason(record) if terms.decline_needless else ""

    def _lack_of_reason(self, record: TurnRecord) -> str:
        """Returns why a question is not worth its cost; empty if it may be, for example when the work goes wrong.

        A first question can't be rated, because there is neither an answer nor work to judge yet.
        """
        is_open = not record.given or len(record.work) >= LONG_WORK
        if record.is_doubtful or (is_open and self._model.helps_average):
            return ""
        return "nothing speaks against the work so far" + (", and so its gain is below the cut" if is_open else "")

    @property
    def _may_advise(self) -> bool:
        record, model = self._record, self._model
        if not (record.given or model.share.has_room):
            return False
        return self._turn.may_ask and record.given < model.terms.max_uses and record.failed < MOST_FAILED

    @property
    def _is_offered(self) -> bool:
        """False if the tools are done and the model has to sum up, or if it does nothing but ask."""
        is_summing_up = not self._request.tools and self._asked is not self._request
        return not is_summing_up and self._record.in_a_row < MOST_IN_A_ROW and self._record.declined < MOST_DECLINED

    @cached_property
    def _record(self) -> "TurnRecord":
        return TurnRecord.of((*self._asked.messages[self._place :], *self._steps), self._tool.name)

    @property
    def _earlier_advice(self) -> str:
        """The advice of earlier turns in the run."""
        messages = self._request.messages[: self._place]
        results = (result for message in messages for result in message.tool_results)
        return "\n\n".join(each.text for each in results if each.call.name == self._tool.name and not each.is_error)

    @property
    def _messages(self) -> tuple[Message, ...]:
        return (*self._request.messages, *self._steps)

    def _new_call(self) -> ToolCall:
        return self._with_id(ToolCall(self._tool.name, {}))

    def _with_id(self, call: ToolCall) -> ToolCall:
        """Returns the call with a unique id: some models give none, or the same one again."""
        ids = {each.id for message in self._messages for each in message.tool_calls}
        if call.id and call.id not in ids:
            return call
        # Search for a free number: a shortened conversation may contain higher numbers than it has calls.
        return replace(call, id=next(id_ for n in count(len(ids) + 1) if (id_ := f"{NAME}_{n}") not in ids))


def create(
    primary: ModelClient,
    secondary: ModelClient,
    *,
    models: Sequence[ModelClient] = (),
    labels: Sequence[tuple[str, str]] = (),
    stuck_detector: Judges | None = None,
    helping: Helping | None = None,
    max_retries: int = 1,
    max_uses: int = MAX_USES,
    max_tokens: int = MAX_TOKENS,
    use_tools: bool = False,
    decline_needless: bool = True,
    caching: str = "",
    native: bool = False,
    native_tool: Mapping[str, Any] = NO_TOOL,
) -> ModelClient:
    """Returns the helped model; `labels` are the names and purposes of `secondary` and `models`, in this order.

    `max_retries` is how many poor answers of a turn force advice. With `native` the provider asks `secondary` itself,
    through `native_tool` of its API; then no question is forced.
    """
    terms = AdviceTerms(max_uses, max_tokens, max_retries, use_tools, decline_needless, caching)
    if native:
        return NativelyAdvised(primary, native_entry(native_tool, max_uses, max_tokens, caching))
    names = chain((NAME,), (f"{NAME}_{place}" for place in count(2)))
    known = zip((secondary, *models), names, chain(labels, repeat(("", ""))), strict=False)
    advisors = [NamedAdvisor(name or usual, purpose, client) for client, usual, (name, purpose) in known]
    return AdvisedModel(primary, advisors, terms, stuck_detector, helping)
