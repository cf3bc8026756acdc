"""A model that consults the advisors that its client declared, and how the client sees it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from secrets import token_hex
from typing import Any

from ..collaboration._advice import advice_result, tool_name
from ..collaboration.advisor import AdviceTerms, AdvisedModel, NamedAdvisor
from ..core.client import ClientWrapper, ModelClient
from ..core.errors import AIBattleError, BudgetExceeded, ContextTooLong, ProviderError, RateLimited, TimedOut
from ..core.events import DraftDelta, Emit, Event, ModelReplied, TextDelta, ThinkingDelta, ignore
from ..core.exchange import NOTHING_USED, ModelRequest, ModelResponse
from ..core.messages import Message, Part, Text, ToolCall, ToolResult
from ..core.tooling import ToolCalled, ToolReturned
from ..judging.assessment import prompt_place
from ..wire.advice import Consultation, advice_part, advice_words, consultation_in, consultations_in, question_part
from ..wire.anthropic.answers import encode_usage, stop_of
from ..wire.anthropic.blocks import WIRE
from ..wire.bodies import own
from ..wire.requests import paired_messages
from .advisors import ClientAdvisor

ERROR_CODES: Mapping[type[AIBattleError], str] = {
    ContextTooLong: "prompt_too_long", TimedOut: "execution_time_exceeded", RateLimited: "too_many_requests",
    BudgetExceeded: "too_many_requests",
}  # fmt: skip
STATUS_CODES = {404: "model_not_found", 503: "overloaded", 529: "overloaded"}
PURPOSE_LENGTH = 200
"""Characters of an advisor's instructions that help a model choose among several."""
NO_ADVICE = "There is no advice; decide yourself, and go on."


class ObservedClient(ClientWrapper):
    """Remembers the outcome of the last request: an answer, or the error in its place.

    `prepare` builds the request to send from the incoming one and the `question` in it.
    """

    def __init__(self, client: ModelClient, prepare: Callable[[ModelRequest, str], ModelRequest] | None = None) -> None:
        super().__init__(client)
        self._prepare = prepare
        self.question = ""
        self.response: ModelResponse | None = None
        self.error: AIBattleError | None = None
        self.is_asked = False

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        self.forget()
        self.is_asked = True
        try:
            prepared = self._prepare(request, self.question) if self._prepare else request
            self.response = await self.client.complete(prepared, emit)
        except (ProviderError, BudgetExceeded) as error:
            self.error = error
            raise
        return self.response

    def forget(self) -> None:
        self.response = self.error = None
        self.is_asked = False


class ConsultingClient(ModelClient):
    """Lets `worker` consult the advisors of one request, and shows that in its answer as its API does.

    Only the worker consults, as its client expects; `is_forced` requires a question first. If `is_direct`, the worker's
    text is streamed as it comes; with a strategy only its end shows which draft becomes the answer.

    `api` is the API's name. In the Messages API the usage of an answer is the worker's alone, as that of advisors is
    listed next to it. Chat Completions show neither questions nor advice, only the text before and after them.
    """

    def __init__(
        self, worker: ModelClient, advisors: Sequence[ClientAdvisor], api: str, *, is_direct: bool, is_forced: bool
    ) -> None:
        self._worker = worker
        self._advisors = advisors
        self._api = api
        self._is_direct = is_direct
        self._is_forced = is_forced

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        tool = tool_name(request.tools)
        choice = tool if self._is_forced else request.tool_choice
        messages = with_advice(request.messages, tool, self._advisors[0].name)
        worker = ObservedClient(self._worker)
        advisors = {ObservedClient(each.client, each.prepare): each for each in self._advisors}
        named = [
            NamedAdvisor(each.name, each.entry.instructions[:PURPOSE_LENGTH], client)
            for client, each in advisors.items()
        ]
        wants = replace(request.wants, drafts=self._is_direct and request.wants.stream)
        gap = "\n\n" if self._api == "chat" else ""
        listener = ConsultationListener(emit, tool, worker, advisors, gap=gap, is_live=wants.drafts)
        # The client's bound is for this request; the strategy's also counts the advice of earlier requests in the turn.
        advised = AdvisedModel(worker, named, self._terms(listener.uses_left + _advice_count(messages, tool)))
        try:
            advised_request = replace(request, messages=messages, tool_choice=choice, wants=wants)
            response = await advised.complete(advised_request, listener)
        except ProviderError as error:
            if error.response is None:
                raise
            response = error.response
        return listener.shown_response(response, by_iteration=self._api == "messages")

    def _terms(self, max_uses: int) -> AdviceTerms:
        """Returns the terms of the client's protocol: the client's own bounds and none of ours."""
        tokens = min(each.max_tokens for each in self._advisors)
        caching = next((each.entry.ttl for each in self._advisors if each.entry.ttl), "")
        return AdviceTerms(max_uses, tokens, max_forced=0, decline_needless=False, caching=caching)


class ConsultationListener:
    """Shows a client each question where it is asked, after the text that preceded it, and its outcome.

    `gap` separates texts if nothing else does. While it `is_live`, drafts of the worker are streamed as they come.
    """

    def __init__(
        self,
        emit: Emit,
        tool: str,
        worker: ObservedClient,
        advisors: Mapping[ObservedClient, ClientAdvisor],
        *,
        gap: str,
        is_live: bool,
    ) -> None:
        self.uses_left = min(each.max_uses for each in advisors.values())
        self._emit = emit
        self._tool = tool
        self._worker = worker
        self._advisors = advisors
        self._gap = gap
        self._is_live = is_live
        self._parts: list[Part] = []
        self._iterations: list[dict[str, Any]] = []
        self._usage = NOTHING_USED
        self._asked = ""

    async def __call__(self, event: Event) -> None:
        if type(event) is DraftDelta:  # first, as nearly all events are deltas
            if not self._asked:
                await self._emit(TextDelta(event.text))
            return
        match event:
            case ToolCalled(call=call) if call.name == self._tool:
                await self._begin(call)
            case ToolReturned(result=result) if self._asked:
                await self._end(result)
            case ModelReplied():
                self._count(event)
        if not self._is_hidden(event):
            await self._emit(event)

    def _is_hidden(self, event: Event) -> bool:
        """Checks whether an event is a thought of an advisor, or text that was already streamed as a draft."""
        return bool(self._asked) if type(event) is ThinkingDelta else type(event) is TextDelta and self._is_live

    def shown_response(self, response: ModelResponse, *, by_iteration: bool) -> ModelResponse:
        """Returns the answer with everything that preceded it, and with the usage of each model call."""
        message = replace(response.message, parts=(*self._parts, *response.message.parts))
        # Only the first call's input: later calls read the same text again, so a client would count it twice.
        first = next((row for row in self._iterations if row["type"] == "message"), {})
        read = {name: count for name, count in first.items() if name not in ("type", "output_tokens")}
        extra = {**own(WIRE, response.extra), "usage": {**read, "iterations": self._iterations}}
        usage = self._usage if by_iteration else response.usage
        return replace(response, message=message, usage=usage, extra={**response.extra, WIRE: extra})

    async def _begin(self, call: ToolCall) -> None:
        for part in self._worker.response.message.parts if self._worker.response else ():
            await self._keep(part)
        self._worker.forget()
        for advisor in self._advisors:
            advisor.forget()
            advisor.question = str(call.arguments.get("question") or "")
        self._asked = f"srvtoolu_{token_hex(12)}"
        await self._show(question_part(self._asked, self._question(call)))

    async def _keep(self, part: Part) -> None:
        """Emits the text of a part that precedes a question. Its thoughts were streamed already."""
        if isinstance(part, Text) and part.text:
            await self._emit(TextDelta(self._gap if self._is_live else part.text + self._gap))
            part = replace(part, text=part.text + self._gap)
        if not isinstance(part, ToolCall):
            self._parts.append(part)

    async def _end(self, result: ToolResult) -> None:
        advisor = next((client for client in self._advisors if client.is_asked), None)
        content = self._content(result, advisor)
        brought = self._advisors[advisor] if advisor else next(iter(self._advisors.values()))
        part = advice_part(self._asked, self._question(result.call), brought.entry.model, content)
        self._asked = ""
        await self._show(part)

    async def _show(self, part: Text) -> None:
        self._parts.append(part)
        await self._emit(ThinkingDelta("", extra=part.extra))

    def _question(self, call: ToolCall) -> str:
        """Returns the worker's question if the client's block has a place for it."""
        shows = next(iter(self._advisors.values())).entry.shows_question
        return str(call.arguments.get("question") or "") if shows else ""

    def _content(self, result: ToolResult, advisor: ObservedClient | None) -> Mapping[str, Any]:
        if advisor is None:
            if self.uses_left:  # the result says why no advice is needed now
                return {"type": "advisor_result", "text": result.text}
            return {"type": "advisor_tool_result_error", "error_code": "max_uses_exceeded"}
        if result.is_error or advisor.response is None:
            return {"type": "advisor_tool_result_error", "error_code": error_code(advisor.error)}
        self.uses_left -= 1
        return {"type": "advisor_result", "text": advisor.response.text, "stop_reason": stop_of(advisor.response)[0]}

    def _count(self, reply: ModelReplied) -> None:
        counts = encode_usage(reply.usage)
        if self._asked:
            model = next((each.entry.model for client, each in self._advisors.items() if client.is_asked), "")
            self._iterations.append({"type": "advisor_message", "model": model, **counts})
        else:
            self._iterations.append({"type": "message", **counts})
            self._usage += reply.usage


def error_code(error: AIBattleError | None) -> str:
    """Returns the Messages API's code for why there is no advice."""
    by_kind = (code for kind, code in ERROR_CODES.items() if isinstance(error, kind))
    return next(by_kind, "") or STATUS_CODES.get(getattr(error, "status", None) or 0, "unavailable")


def with_advice(messages: tuple[Message, ...], tool: str, who: str) -> tuple[Message, ...]:
    """Returns a conversation in which earlier consultations are calls of the tool and their results.

    So the model finds its advice where it was given, and the strategy counts it. A result without its question becomes
    text of the assistant. Raises `ConfigError` for advice that nobody here can read.
    """
    if not (found := tuple(consultations_in(messages))):
        return messages
    calls = {each.id: ToolCall(tool, {}, each.id) for each in found if each.asks}
    results = {each.id: _result_of(calls[each.id], each, who) for each in found if each.content and each.id in calls}
    return paired_messages(tuple(piece for message in messages for piece in _message_pieces(message, results)))


def _message_pieces(message: Message, results: Mapping[str, ToolResult]) -> Iterator[Message]:
    """Yields a message in pieces: up to a question, its result, and the rest."""
    parts: list[Part] = []
    for part in message.parts:
        match consultation_in(part):
            case None:
                parts.append(part)
            case Consultation(asks=False) as advice if advice.id not in results:
                parts.append(Text(advice_words(advice.text)))  # no upstream takes the block without its question
            case Consultation(asks=True) as question if result := results.get(question.id):
                yield replace(message, parts=(*parts, result.call))
                yield Message("tool", (result,))
                parts = []
    if parts:
        yield replace(message, parts=tuple(parts))


def _result_of(call: ToolCall, found: Consultation, who: str) -> ToolResult:
    words = advice_result(who, found.text) if found.text else NO_ADVICE
    return ToolResult(call, (Text(words),), is_error=not found.text)


def _advice_count(messages: Sequence[Message], tool: str) -> int:
    """Returns how often advice was given in the present turn."""
    if not any(call.name == tool for message in messages for call in message.tool_calls):
        return 0  # the usual case, and finding where a turn begins takes longer
    results = (result for message in messages[prompt_place(messages) :] for result in message.tool_results)
    return sum(result.call.name == tool and not result.is_error for result in results)
