"""A model that uses tools: they are offered, what it asks for is run, and that is repeated within limits."""

import asyncio
from collections.abc import Iterable
from dataclasses import replace

from ..core.client import ModelClient
from ..core.errors import BudgetExceeded
from ..core.events import Emit, TextDelta, drafting, ignore
from ..core.exchange import ModelRequest, ModelResponse, ToolSpec
from ..core.ledger import Budget, limit_reached, request_answer
from ..core.messages import ToolResult, assistant, user
from ..core.tooling import FabricationSuspected, LoopStopped, ToolProposed, ToolsOffered
from ..signals.invention import invented_result, unsupported_claim
from ._answering import Answering, only_text, prompt, told
from ._leaks import Wishes, wishes
from ._running import Runner
from .approval import Consent
from .base import Tool
from .formats.text import ToolUseProtocol
from .guard import Guard
from .limits import DEFAULT, RunnerLimits
from .manager import ToolManager
from .registry import ToolRegistry


class ToolCapableClient(ModelClient):
    """`client` with `tools`. What it says before its answer is a draft; calls and results are `response.steps`."""

    def __init__(
        self,
        client: ModelClient,
        tools: ToolManager | Iterable[Tool] = (),
        limits: RunnerLimits = DEFAULT,
        *,
        consent: Consent | None = None,
    ) -> None:
        self.client = client
        self.limits = limits
        self.consent = consent
        self.manager = tools if isinstance(tools, ToolManager) else ToolManager(_registry(tools))
        self._told: tuple[ToolSpec, ...] | None = None

    @property
    def offered(self) -> tuple[ToolSpec, ...]:
        """The tools that the model may use now."""
        specs = () if limit_reached() else self.manager.registry.specs
        return tuple(spec for spec in specs if not (self.consent and self.consent.denies(spec.name)))

    def set_tool_protocol(self, protocol: ToolUseProtocol) -> None:
        """From now on the tools are those of `protocol`."""
        self.manager = protocol.tool_manager

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        await self._tell(emit)
        if not len(self.manager.registry) or request.tool_choice == "none":
            return await self.client.complete(request, emit)
        turn = _Turn(self, request, emit)
        while turn.may_call:
            try:
                response = await turn.ask()
            except BudgetExceeded:
                break
            wished = await turn.wishes(response)
            if wished.calls or wished.problems:
                await turn.fulfil(response, wished)
            elif wished.proposals and turn.may_ask_back:
                turn.ask_back(response)
            else:
                answer = turn.held_back or response
                return await turn.accept(answer) if turn.is_answer(answer) else await turn.sum_up()
        return await turn.sum_up()

    async def aclose(self) -> None:
        await self.client.aclose()

    async def _tell(self, emit: Emit) -> None:
        """Which tools are offered, when these are others than the last time; and why there are none any more."""
        if self.offered == self._told or not (self._told or self.offered):
            return
        self._told = self.offered
        await emit(ToolsOffered(self._told))
        if limit := limit_reached():
            await emit(LoopStopped(limit))


class _Turn:
    """One `complete`, step by step. A model that calls what it is not offered is told why that is not run.

    Tools that servers add or take away between two rounds are there, or not there, in the next one.
    """

    def __init__(self, client: ToolCapableClient, request: ModelRequest, emit: Emit) -> None:
        self.may_call = True
        self.held_back: ModelResponse | None = None
        self._asked_back = False
        self._client = client.client
        self._limits = client.limits
        self._consent = client.consent
        self._specs = client.offered
        self._registry = client.manager.registry
        self._emit = emit
        self._answering = Answering(request)
        self._budget = Budget()
        self._guard = Guard(client.limits)
        self._runner = Runner(client.manager, self._guard, client.limits.parallel, emit, client.consent)

    async def ask(self) -> ModelResponse:
        """What the model says while it has tools: a draft, until it turns out to be the answer."""
        return await self._request_answer(self._answering.offering(self._specs))

    async def wishes(self, response: ModelResponse) -> Wishes:
        wished = wishes(response, self._registry.specs, self._answering.quotable)
        if self.held_back is None:
            for proposal in wished.proposals:
                await self._emit(ToolProposed(proposal.call, proposal.kind))
        return wished

    @property
    def may_ask_back(self) -> bool:
        return not (self._asked_back or self._guard.ended)

    def ask_back(self, response: ModelResponse) -> None:
        """Asks once whether the calls that the answer proposes were meant; where they were not, the answer stands."""
        self._asked_back = True
        self.held_back = response
        self._answering.asides = (assistant(response.text), user(prompt("proposed")))

    def is_answer(self, response: ModelResponse) -> bool:
        """Whether it says something; to have tools run and then say nothing is none."""
        return bool(response.text.strip()) or not self._answering.results

    async def accept(self, response: ModelResponse) -> ModelResponse:
        await self._suspect(unsupported_claim(response.text, self._registry.specs, self._answering.messages))
        if response.text:
            await self._emit(TextDelta(response.text))
        return replace(self._answering.finished(response), usage=self._budget.ledger.usage)

    async def fulfil(self, response: ModelResponse, wished: Wishes) -> None:
        """Runs the calls; what could not be read as a call is told to the model instead."""
        self.held_back = None
        await asyncio.sleep(self._limits.pause_before(self._guard.rounds + 1))
        if wished.calls:
            await self._suspect(invented_result(wished.after, self._answering.messages, wished.calls))
            results = await self._runner.run(self._answering.called(response, wished))
            self._answering.returned(results)
        else:
            results = ()
            self._guard.refused("", response.text, unknown=True)
            self._answering.asides = (assistant(response.text), user("\n".join(wished.problems)))
        if self._guard.end_round(self._runner.seconds):
            self._answering.asides = (user(prompt("nudge")),)
        self._specs = tuple(spec for spec in self._registry.specs if self._may_offer(spec.name))
        self.may_call = bool(self._specs) and not self._guard.ended and not self._are_long(results)

    def _may_offer(self, name: str) -> bool:
        return name not in self._guard.excluded and not (self._consent and self._consent.denies(name))

    async def sum_up(self) -> ModelResponse:
        """One last answer, without tools. What the tools returned speaks for a model that calls all the same.

        So it does where no money is left for another answer.
        """
        if self._guard.ended:
            await self._emit(LoopStopped(self._guard.ended, self._guard.in_circles))
        try:
            response = await self._request_answer(self._answering.summing_up())
        except BudgetExceeded as error:
            if not self._answering.results:
                raise
            await self._emit(LoopStopped(str(error)))
            response = ModelResponse(assistant(""))
        said = await self.wishes(response)
        text = (said.prose.strip() and said.prose) or told(self._answering.results)
        return await self.accept(response if text == response.text else only_text(response, text))

    async def _request_answer(self, request: ModelRequest) -> ModelResponse:
        return await request_answer(self._client, request, drafting(self._emit), self._budget)

    async def _suspect(self, claim: str) -> None:
        if claim:
            await self._emit(FabricationSuspected(claim))

    def _are_long(self, results: tuple[ToolResult, ...]) -> bool:
        return sum(len(result.text) for result in results) > self._limits.summarize_threshold


def asked_first(request: ModelRequest, tools: tuple[ToolSpec, ...]) -> ModelRequest:
    """What a model with these tools is asked first."""
    return Answering(request).offering(tools)


def _registry(tools: Iterable[Tool]) -> ToolRegistry:
    return tools if isinstance(tools, ToolRegistry) else ToolRegistry(tools)
