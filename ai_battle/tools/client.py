"""A client with tools: offers them to a model, runs the calls, and asks again with the results, within limits."""

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ..core.client import ClientWrapper, ModelClient, request_answer
from ..core.errors import BudgetExceeded
from ..core.events import Emit, TextDelta, Warned, drafting, ignore
from ..core.exchange import ModelRequest, ModelResponse, ToolSpec
from ..core.files import prompt_template
from ..core.ledger import Budget, limit_reached
from ..core.messages import Message, Part, Text, ToolCall, ToolResult, assistant, user
from ..core.tooling import FabricationSuspected, LoopStopped, ToolProposed, ToolsOffered
from ..signals.invention import invented_result, unsupported_claim
from ..wire.dialects.calls import OfferedTools
from ..wire.dialects.reader import read
from ..wire.dialects.reading import Proposal, without_cut_call
from .approval import Consent
from .base import Tool, ToolRegistry
from .calls import DEFAULT, CallRunner, RunnerLimits
from .formats.answers import AFTER_CALLS, PROPOSED, UNREAD, is_quoted, problems_in, results_in, text_after_calls
from .formats.text import ToolUseProtocol
from .manager import ToolManager


class ToolCapableClient(ClientWrapper):
    """`client` with `tools`. Text before the final answer is a draft; calls and results are `response.steps`."""

    def __init__(
        self,
        client: ModelClient,
        tools: ToolManager | Iterable[Tool] = (),
        limits: RunnerLimits = DEFAULT,
        *,
        consent: Consent | None = None,
    ) -> None:
        super().__init__(client)
        self.limits = limits
        self.consent = consent
        self.manager = tools if isinstance(tools, ToolManager) else ToolManager(_registry(tools))
        self._last_offer: tuple[ToolSpec, ...] | None = None

    @property
    def offered_tools(self) -> tuple[ToolSpec, ...]:
        """The tools that the model may use now; none once a limit is reached."""
        specs = () if limit_reached() else self.manager.registry.specs
        return tuple(spec for spec in specs if not (self.consent and self.consent.denies(spec.name)))

    @property
    def all_tools(self) -> tuple[ToolSpec, ...]:
        """All tools that the model is told of, including those whose calls another client answers."""
        offered = self.offered_tools
        return (*offered, *self.client.added_tools(offered))

    def set_tool_protocol(self, protocol: ToolUseProtocol) -> None:
        """Replaces the tools by those of `protocol`."""
        self.manager = protocol.tool_manager

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        await self._emit_offer(emit)
        if request.tool_choice == "none":
            return await self.client.complete(request, emit)
        if not len(self.manager.registry):  # all tools it is told of are answered by `client`
            offered = replace(first_request(request, self.all_tools), tools=request.tools)
            return await self.client.complete(offered, emit)
        return await _ToolTurn(self, request, emit).answer()

    async def _emit_offer(self, emit: Emit) -> None:
        """Emits the offered tools when they change, and the reason if a limit ended the offer."""
        offer = self.all_tools
        if offer == self._last_offer or not (self._last_offer or offer):
            return
        self._last_offer = offer
        await emit(ToolsOffered(self._last_offer))
        if limit := limit_reached():
            await emit(LoopStopped(limit))


def first_request(request: ModelRequest, tools: tuple[ToolSpec, ...]) -> ModelRequest:
    """Returns the first request to a model with these tools, if there are any."""
    return replace(request, system=_join_texts(request.system, _instructions(tools)), tools=tools) if tools else request


def _instructions(tools: Iterable[ToolSpec]) -> str:
    """Returns what a model with these tools is told in its system prompt: their guides, and how to read results."""
    return _join_texts(*dict.fromkeys(tool.guide for tool in tools), _prompt("data"))


def _prompt(name: str) -> str:
    """Returns the packaged prompt `prompts/<name>.md`."""
    return prompt_template(__package__, name).template


def _join_texts(*texts: str) -> str:
    return "\n\n".join(text for text in texts if text)


class WithTools(ClientWrapper):
    """A wrapper that passes the tools of `inner` with each request, so that strategies tell other models of them."""

    def __init__(self, client: ModelClient, inner: ModelClient) -> None:
        super().__init__(client)
        self.inner = inner

    @property
    def offered_tools(self) -> tuple[ToolSpec, ...]:
        return self.inner.offered_tools

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        if request.tool_choice == "none" or request.tools:
            return await self.client.complete(request, emit)
        return await self.client.complete(replace(request, tools=self.offered_tools), emit)


class _ToolTurn:
    """One answer of a model with tools, step by step. A call of a tool that is not offered gets an explanation.

    The offer is read again for each round, as MCP servers may add and remove tools at any time.
    """

    def __init__(self, client: ToolCapableClient, request: ModelRequest, emit: Emit) -> None:
        self._client = client
        self._request = request
        self._emit = emit
        self._specs = client.offered_tools
        self._registry = client.manager.registry
        self._budget = Budget()
        self._runner = CallRunner(client.manager, client.limits, emit, client.consent)
        self._guard = self._runner.guard
        self._steps: list[Message] = []
        self._results: list[ToolResult] = []
        self._transient: tuple[Message, ...] = ()  # messages that go with the next request alone
        self._first_answer: ModelResponse | None = None
        self._ids = {part.id for message in request.messages for part in message.parts if isinstance(part, ToolCall)}

    async def answer(self) -> ModelResponse:
        """Asks, runs the requested calls and asks again, until there is an answer or a limit is reached."""
        may_call = True
        while may_call:
            try:
                response = await self._request_answer(self._next_request())
            except BudgetExceeded:
                break
            requested = await self._read_calls(response)
            if requested:
                may_call = await self._run_calls(response, requested)
            elif self._should_ask_back(requested):
                # If the model says that it did not mean the calls, this answer is used.
                self._first_answer = response
                self._transient = (assistant(response.text), user(_prompt("unrun_call")))
            else:
                answer = self._first_answer or response
                # Running tools and then saying nothing is not an answer.
                return await (self._accept(answer) if answer.text.strip() or not self._results else self._sum_up())
        return await self._sum_up()

    def _should_ask_back(self, requested: "RequestedCalls") -> bool:
        """Returns whether to ask about calls that are perhaps not meant: once, and again only after a run."""
        return bool(requested.proposals) and self._first_answer is None and not self._guard.ended

    def _next_request(self) -> ModelRequest:
        """Returns the next request, with tools."""
        transient, self._transient = self._transient, ()
        # `tool_choice` only forces the first call; kept any longer, it would keep the model from ever answering.
        is_settled = self._steps or transient or not self._specs
        return replace(
            self._request,
            messages=(*self._messages, *transient),
            system=_join_texts(self._request.system, _instructions(self._specs) if self._specs or self._steps else ""),
            tools=self._specs,
            tool_choice="auto" if is_settled else self._request.tool_choice,
        )

    @property
    def _messages(self) -> tuple[Message, ...]:
        """The messages of the request, and the calls and results since."""
        return (*self._request.messages, *self._steps)

    async def _read_calls(self, response: ModelResponse) -> "RequestedCalls":
        requested = RequestedCalls.of(response, self._registry.specs, self._messages)
        if self._first_answer is None:
            for proposal in requested.proposals:
                await self._emit(ToolProposed(proposal.call, proposal.kind))
        return requested

    async def _run_calls(self, response: ModelResponse, requested: "RequestedCalls") -> bool:
        """Runs the calls, or tells the model what could not be read. Returns whether it may call again."""
        self._first_answer = None
        guard = self._guard
        # Slows down a model that asks again and again for nothing new, and with it what its calls cost.
        await asyncio.sleep(self._client.limits.pause_after(guard.idle))
        results: tuple[ToolResult, ...] = ()
        if requested.calls:
            if requested.after.strip():
                await self._note_claim(invented_result(requested.after, self._messages, requested.calls))
            calls = tuple(map(self._with_id, requested.calls))
            self._steps += (*response.steps, _calling(response, requested.prose, calls))
            results = await self._runner.run(calls)
            self._results += results
            self._steps.append(Message("tool", results))
        else:
            guard.count_unreadable(response.text)
            await self._emit(Warned(f"A call in the text was not run. {requested.problems[0]}"))
            self._transient = (assistant(response.text), user("\n".join(requested.problems)))
        if guard.end_round(sum(len(result.text) for result in results)):
            self._transient = (user(_prompt("nudge")),)
        self._specs = tuple(spec for spec in self._client.offered_tools if spec.name not in guard.excluded)
        return bool(self._specs) and not guard.ended

    def _with_id(self, call: ToolCall) -> ToolCall:
        """Returns the call with an id that is unique in the conversation."""
        # Some models leave ids empty or repeat them, but APIs match results to calls by id.
        if not call.id or call.id in self._ids:
            number = len(self._ids) + 1
            while (made := f"call_{number}") in self._ids:
                number += 1
            call = replace(call, id=made)
        self._ids.add(call.id)
        return call

    async def _sum_up(self) -> ModelResponse:
        """Asks for a last answer without tools.

        If the model calls all the same, or no budget is left, the results are the answer.
        """
        if self._guard.ended:
            await self._emit(LoopStopped(self._guard.ended, self._guard.in_circles))
        try:
            response = await self._request_answer(self._last_request())
        except BudgetExceeded as error:
            if not self._results:
                raise
            await self._emit(LoopStopped(str(error)))
            response = ModelResponse(assistant(""))
        requested = await self._read_calls(response)
        text = (requested.prose.strip() and requested.prose) or _results_in_words(self._results)
        return await self._accept(response if text == response.text else _with_text(response, text))

    def _last_request(self) -> ModelRequest:
        """Returns a request without tools that asks for an answer; if no tool returned anything, it says so."""
        is_found = any(not result.is_error for result in self._results)
        return replace(
            self._request,
            messages=(*self._messages, user(_prompt("conclusion" if is_found else "no_results"))),
            system=_join_texts(self._request.system, _prompt("result_summary") if is_found else ""),
            tools=(),
            tool_choice="auto",
        )

    async def _accept(self, response: ModelResponse) -> ModelResponse:
        await self._note_claim(unsupported_claim(response.text, self._registry.specs, self._messages))
        if response.text:
            await self._emit(TextDelta(response.text))
        return replace(response, steps=(*self._steps, *response.steps), usage=self._budget.ledger.usage)

    async def _request_answer(self, request: ModelRequest) -> ModelResponse:
        """Requests an answer as a draft, because it may yet turn out to be a call."""
        return await request_answer(self._client.client, request, drafting(self._emit), self._budget)

    async def _note_claim(self, claim: str) -> None:
        if claim:
            await self._emit(FabricationSuspected(claim))


@dataclass(frozen=True, slots=True)
class RequestedCalls:
    """The calls that a model requests: native ones, or those that leaked into its text.

    `calls` are to be run; `problems` are to be explained to the model. `prose` is the text around calls in the text,
    `after` the text after the first of them; `proposals` are calls in the prose that are not to be run.
    """

    calls: tuple[ToolCall, ...] = ()
    prose: str = ""
    problems: tuple[str, ...] = ()
    after: str = ""
    proposals: tuple[Proposal, ...] = ()

    def __bool__(self) -> bool:
        """Returns whether something has to be done before there can be an answer."""
        return bool(self.calls or self.problems)

    @classmethod
    def of(
        cls, response: ModelResponse, specs: tuple[ToolSpec, ...], messages: Iterable[Message] = ()
    ) -> "RequestedCalls":
        """Returns what `response` requests. A call that only repeats a result in `messages` is a quotation."""
        proposed = response.extra.get(PROPOSED, ())
        if calls := response.tool_calls:
            return cls(
                tuple(map(OfferedTools(specs).as_offered, calls)),
                response.text,
                (),
                response.extra.get(AFTER_CALLS, ""),
                proposed,
            )
        if problems := response.extra.get(UNREAD):
            return cls(prose=response.text, problems=problems, proposals=proposed)
        reading = read(response.text, specs)
        # A call that the token limit cut off may have lost arguments, so it must not be run.
        if response.stop == "length":
            reading = without_cut_call(reading, response.text)
        if not reading.spans or is_quoted(reading, response.text, specs, results_in(messages)):
            return cls(prose=response.text, proposals=() if reading.spans else reading.proposals)
        after = text_after_calls(reading, response.text)
        return cls(reading.calls, reading.prose.strip(), problems_in(reading, specs), after, reading.proposals)


def _calling(response: ModelResponse, prose: str, calls: Iterable[ToolCall]) -> Message:
    """Returns the model's message with these calls in place of its own; calls from the text come last."""
    parts: tuple[Part, ...] = response.message.parts
    if not response.tool_calls:
        parts = (*_without_text(response), Text(prose))
    waiting = list(calls)
    kept = [
        waiting.pop(0) if isinstance(part, ToolCall) else part
        for part in parts
        if not isinstance(part, Text) or part.text
    ]
    return replace(response.message, parts=(*kept, *waiting))


def _without_text(response: ModelResponse) -> Iterator[Part]:
    return (part for part in response.message.parts if not isinstance(part, Text | ToolCall))


def _with_text(response: ModelResponse, text: str) -> ModelResponse:
    """Returns the response with `text` as its only text; thinking is kept."""
    parts = (*_without_text(response), *((Text(text),) if text else ()))
    return replace(response, message=replace(response.message, parts=parts), stop="end")


def _results_in_words(results: Iterable[ToolResult]) -> str:
    """Returns the results as text, for a model that found no words; "" if all tools failed."""
    found = (f"{result.call.name} returned: {result.text}" for result in results if not result.is_error)
    return "\n\n".join(dict.fromkeys(found))


def _registry(tools: Iterable[Tool]) -> ToolRegistry:
    return tools if isinstance(tools, ToolRegistry) else ToolRegistry(tools)
