"""One answer of the boost loop, step by step."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import monotonic
from typing import Literal

from ..core.client import ModelClient
from ..core.errors import CutShort, ProviderError
from ..core.events import Emit, Event
from ..core.exchange import ModelRequest, ModelResponse, Stop, ToolSpec
from ..core.helping import BoostStep, HelpFailed
from ..core.messages import Text
from ..signals.invention import unsupported_claim
from ..signals.refusals import refuses
from ._boost_prompt import Attempt, Planning, guided, has_new_results
from ._boost_reply import Guidance, Other, Reply, Summary, parse
from ._boost_stream import Aloud, Executing, Planner
from ._boost_template import Template
from ._turn import Draft, Helping, Turn

SECONDS = 60.0
"""What the boost model has for all its attempts at one request, where nothing else is said."""

NO_FORMAT = "It has neither a SUMMARY nor a GUIDANCE section."
NO_TOOL = "The auxiliary model was given this guidance and called no tool."
MUST_CALL = "The request demands that a tool is called, so a SUMMARY can't be its answer."


@dataclass(frozen=True, slots=True)
class Models:
    """Who plans and who carries out, and how the first is asked."""

    boost: ModelClient
    auxiliary: ModelClient
    template: Template
    helping: Helping


class BoostTurn:
    """What is known of a request while it is answered: the replies that led to nothing, and what was answered then."""

    def __init__(self, models: Models, request: ModelRequest, emit: Emit) -> None:
        self._models = models
        self._request = request
        self._emit = emit
        self._tools = _offered(models.auxiliary, request)
        self._must_call = bool(self._tools) and request.tool_choice != "auto"
        self._text_will_do = not self._tools or has_new_results(request)
        self._turn = Turn("boost", models.helping, self._hear)
        self._seconds = SECONDS if models.helping.timeout is None else models.helping.timeout
        self._aloud = Aloud(emit)
        self._planned: list[Draft] = []
        self._attempts: list[Attempt] = []
        self._answers: list[Draft] = []
        self._failure = ""

    async def plan(self, loop: int) -> Reply | None:
        """What the boost model replies; None when it is nothing that can be used."""
        if not (planned := await self._ask()):
            await self._aloud.take_back(self._failure)
            await self._emit(BoostStep(loop, "fallback", self._failure))
            return None
        reply, why = parse(planned.text), NO_FORMAT
        if isinstance(reply, Summary) and self._must_call:
            reply, why = Other(planned.text), MUST_CALL
        await self._emit(BoostStep(loop, _OUTCOMES[type(reply)], planned.text))
        self._planned.append(planned)
        if isinstance(reply, Other):
            self._attempts.append(Attempt(planned.text, why))
            await self._turn.drop(planned, why)
        return reply

    async def answer(self, summary: str) -> ModelResponse:
        """The boost model's own answer."""
        draft = self._planned[-1]
        said = draft.response
        message = replace(said.message, parts=(Text(summary),))
        stop: Stop = "end" if said.stop == "tool_calls" else said.stop
        return await self._accept(replace(draft, response=replace(said, message=message, stop=stop)), self._aloud)

    async def execute(self, guidance: Guidance) -> ModelResponse | None:
        """What the auxiliary model makes of the guidance; None when it ignores it."""
        hearing = Executing(self._emit, is_answer=self._text_will_do)
        draft = await self._run(guided(self._request, guidance), hearing)
        if not draft:
            return await self.best()
        if self._text_will_do or hearing.called or draft.response.used_tools or draft.response.tool_calls:
            return await self._accept(draft, hearing.aloud)
        self._attempts.append(Attempt(self._planned[-1].text, NO_TOOL, draft.text))
        if draft.text.strip():
            self._answers.append(draft)
        else:
            await self._turn.drop(draft, NO_TOOL)
        return None

    async def directly(self) -> ModelResponse:
        """The auxiliary model's answer to the request as it is."""
        hearing = Executing(self._emit, is_answer=True)
        draft = await self._run(self._request, hearing)
        return await self._accept(draft, hearing.aloud) if draft else await self.best()

    async def best(self) -> ModelResponse:
        """The best that the auxiliary model has said; if it has said nothing, what it answers without guidance."""
        best = max(reversed(self._answers), key=self._worth, default=None)
        if not best:
            await self._turn.report_failure(
                "no reply of the boost model led to an answer: it was in none of the formats"
            )
            return await self.directly()
        return await self._accept(best, Aloud(self._emit))

    def _worth(self, answer: Draft) -> tuple[bool, bool]:
        """Of equals the last is taken; one that tells of results that no tool returned is worth less."""
        claim = unsupported_claim(answer.text, self._tools, (*self._request.messages, *answer.response.steps))
        return answer.response.stop in ("end", "stop_sequence"), not claim

    async def _ask(self) -> Draft | None:
        if self._seconds <= 0:
            await self._turn.report_failure("no time is left for another attempt")
            return None
        self._aloud = Aloud(self._emit)
        planner = Planner(self._models.boost, self._aloud, may_answer=not self._must_call)
        planning = Planning(self._request, self._tools, self._attempts)
        asked = planning.asked(self._models.template, self._models.helping.sees)
        why = self._attempts[-1].why if self._attempts else "Each request is planned first."
        self._turn.helping = replace(self._models.helping, timeout=self._seconds)
        started = monotonic()
        planned = await self._turn.ask(planner, asked, why, "boost")
        self._seconds -= monotonic() - started
        if planned and planned.cut and self._aloud.has_said:
            raise CutShort(planned.cut, planned.text)
        if planned and (problem := _useless(planned.response)):
            await self._turn.report_failure(problem)
            await self._turn.drop(planned, problem)
            return None
        return planned

    async def _run(self, request: ModelRequest, hearing: Executing) -> Draft | None:
        """What the auxiliary model answers; None when it fails and has answered before."""
        try:
            response = await self._turn.request_answer(self._models.auxiliary, request, hearing)
        except ProviderError as error:
            if not self._answers:
                raise
            await hearing.aloud.take_back(str(error))
            await self._turn.report_failure(f"the auxiliary model failed: {error}")
            return None
        return hearing.cost.draft(response)

    async def _accept(self, draft: Draft, aloud: Aloud) -> ModelResponse:
        for other in self._answers:
            if other is not draft:
                await self._turn.drop(other, NO_TOOL)
        await aloud.finish(draft.text)
        return replace(draft.response, usage=self._turn.usage)

    async def _hear(self, event: Event) -> None:
        if isinstance(event, HelpFailed):
            self._failure = event.reason
        await self._emit(event)


_OUTCOMES: Mapping[type[Reply], Literal["summary", "guidance", "other"]] = {
    Summary: "summary",
    Guidance: "guidance",
    Other: "other",
}


def _offered(auxiliary: ModelClient, request: ModelRequest) -> tuple[ToolSpec, ...]:
    return () if request.tool_choice == "none" else request.tools or auxiliary.offered


def _useless(planned: ModelResponse) -> str:
    """Why the auxiliary model had better answer alone; empty where trying again may help."""
    text = planned.text
    if not text.strip():
        return "it answered with nothing but tool calls, and has no tools"
    if not isinstance(parse(text), Other):
        return ""
    if planned.stop == "length":
        return "it reached the limit of its length before a SUMMARY or GUIDANCE"
    return f"it declined to answer: {text.strip()[:200]}" if refuses(text) else ""
