"""Supports advice in the middle of a turn: the advisor's tool, ours or the provider's, earlier advice, and trouble."""

from bisect import bisect
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, compress, count
from typing import Any

from ..core.client import ClientWrapper, ModelClient
from ..core.errors import ConfigError
from ..core.events import Emit, ignore
from ..core.exchange import ModelRequest, ModelResponse, ToolSpec
from ..core.messages import Message, Part, ToolCall, ToolResult, user
from ..judging.assessment import steps_of
from ..signals.progress import NEWEST_STEPS, ToolStep, WorkRecord
from ..wire.advice import LEAST_TOKENS
from ..wire.anthropic.blocks import WIRE
from ..wire.bodies import own, present
from ._prompts import calls_again, data_section, packaged_prompt

NAME = "advisor"
NO_ADVICE = "No advice: {}. Decide yourself, and go on."
EMPTY_ADVICE = NO_ADVICE.format("the advisor had none to give")
LONG_WORK = 8
"""After so many calls, advice is worth its price even if nothing has gone wrong."""


def advice_result(who: str, advice: str, notes: str = "") -> str:
    """Returns advice in the words the tool's result has for the model; `notes` say what it must know about it."""
    return packaged_prompt("advisor_advice", who=who, notes=notes, advice=data_section("advice", advice))


def tool_name(others: Sequence[ToolSpec]) -> str:
    """Returns a name for the advisor's tool that none of the others has."""
    taken, own = {tool.name for tool in others}, f"ask_{NAME}"
    return next(name for name in chain((NAME, own), (f"{own}_{n}" for n in count(2))) if name not in taken)


@cache  # return one object for all requests, because a tool caches its encoded bytes
def advisor_tool(name: str, labels: tuple[tuple[str, str], ...]) -> ToolSpec:
    """Returns the tool under this name. With several advisors, the model chooses one by name and purpose."""
    properties: dict[str, Any] = {"question": {"type": "string", "description": "What to ask; it may be left out."}}
    described = packaged_prompt("advisor_tool")
    if len(labels) > 1:
        names = [advisor for advisor, _ in labels]
        properties["advisor"] = {"type": "string", "enum": names, "description": "Whom to ask."}
        each = (f"- {advisor}: {purpose or 'for anything'}" for advisor, purpose in labels)
        described = "\n".join((described, "Whom you can ask:", *each))
    return ToolSpec(name, described, {"type": "object", "properties": properties})


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """What happened in a turn so far: how often advice was `given`, `declined`, or unavailable (`failed`).

    `done` are the results of tools, `work` those since the last advice; `in_a_row` counts questions since the last
    result.
    """

    given: int
    declined: int
    failed: int
    in_a_row: int
    done: tuple[ToolResult, ...]
    work: tuple[ToolResult, ...]

    @classmethod
    def of(cls, messages: Sequence[Message], tool: str) -> "TurnRecord":
        results = tuple(result for message in messages for result in message.tool_results)
        places = [place for place, result in enumerate(results) if result.call.name == tool]
        given = [place for place in places if not results[place].is_error]
        failed = sum(results[place].text == EMPTY_ADVICE for place in places)
        work = [place for place, result in enumerate(results) if result.call.name != tool]
        in_a_row = len(results) - 1 - max(work, default=-1)
        done = tuple(results[place] for place in work)
        since = done[bisect(work, max(given, default=-1)) :]
        return cls(len(given), len(places) - len(given) - failed, failed, in_a_row, done, since)

    @property
    def is_doubtful(self) -> bool:
        """True if anything since the last advice failed, brought nothing, or came again."""
        work = WorkRecord()
        for step in self.steps:
            work.add(step)
            if work.lack or work.trouble:
                return True
        return False

    @property
    def steps(self) -> tuple[ToolStep, ...]:
        """The newest steps of the work, which are searched for trouble."""
        return steps_of((Message("tool", self.work[-NEWEST_STEPS:]),))

    def is_repeated_by(self, response: ModelResponse, tools: Sequence[ToolSpec]) -> bool:
        """Checks whether a response only repeats calls that have results, with no writing call in between."""
        writing = {tool.name for tool in tools if tool.writes}
        last = max((place for place, result in enumerate(self.work) if result.call.name in writing), default=-1)
        unchanged = Message("tool", self.work[last + 1 :])
        return calls_again(ModelRequest((user("."), unchanged), tools=tuple(tools)), response)


def newest_trouble(steps: Sequence[ToolStep]) -> str:
    """Returns what is wrong with the newest step; empty if nothing is, or if earlier steps had the same trouble.

    So each trouble counts once, even if nobody remembers the advice: a server's client sends all steps with each
    request, and knows nothing of an advisor. A repeated call is no trouble if its result differs, as for a test after a
    change.
    """
    work, reason = WorkRecord(), ""
    for step in steps:
        if reason:
            work = WorkRecord()
        work.add(step)
        reason = work.trouble or work.stalled
    return reason


def with_forced_calls_in_rounds(messages: Sequence[Message], tool: str) -> tuple[Message, ...]:
    """Merges each forced call into the message whose calls the preceding results answer.

    An API requires a thinking model's messages with calls to begin with a thought that it signed; a forced call has
    none.
    """
    folded: list[Message] = []
    is_folding = False
    for message in messages:
        if is_folding:
            folded[-1] = replace(folded[-1], parts=(*folded[-1].parts, *message.parts))
            is_folding = False
        elif len(folded) > 1 and folded[-1].tool_results and _is_forced_call(message, tool):
            folded[-2] = replace(folded[-2], parts=(*folded[-2].parts, *message.parts))
            is_folding = True
        else:
            folded.append(message)
    return tuple(folded)


def _is_forced_call(message: Message, tool: str) -> bool:
    calls = message.tool_calls
    return len(message.parts) == len(calls) == 1 and calls[0].name == tool and not calls[0].arguments


def without_note(request: ModelRequest) -> ModelRequest:
    """Drops a user message after tool results: a program wrote it, so it must not be judged as the request."""
    before, last = request.messages[:-1], request.messages[-1:]
    is_note = last and before and last[0].role == "user" and before[-1].tool_results and not last[0].tool_results
    return replace(request, messages=before) if is_note else request


def without_overcome(messages: Sequence[Message], tool: str) -> tuple[Message, ...]:
    """Drops advice, and failures that were followed by advice or by a success of the same tool.

    A server's client sends old failures with each request, and knows nothing of the advice that followed them.
    """
    results = [result for message in messages for result in message.tool_results]
    gone = _overcome_places(
        [result.call.name for result in results], [step.is_failure for step in steps_of(messages)], tool
    )
    calls = {results[place].call.id for place in gone}
    return tuple(_without_calls(message, calls) for message in messages) if calls else tuple(messages)


def _overcome_places(names: Sequence[str], fails: Sequence[bool], tool: str) -> Iterator[int]:
    """Yields the places of advice, and of failures before the newest advice or the same tool's newest success."""
    newest = {name: place for place, name in enumerate(names) if name == tool or not fails[place]}
    advised = newest.get(tool, -1)
    for place, name in enumerate(names):
        if name == tool or (fails[place] and place < max(advised, newest.get(name, -1))):
            yield place


def parts_without_calls(response: ModelResponse) -> tuple[Part, ...]:
    return tuple(part for part in response.message.parts if not isinstance(part, ToolCall))


def _without_calls(message: Message, ids: Collection[str]) -> Message:
    if not (message.tool_calls or message.tool_results):
        return message
    calls = (part.call if isinstance(part, ToolResult) else part for part in message.parts)
    kept = [not (isinstance(call, ToolCall) and call.id in ids) for call in calls]
    return replace(message, parts=tuple(compress(message.parts, kept)))


class NativelyAdvised(ClientWrapper):
    """Lets the provider ask the advisor itself: adds the provider's tool to the requests of `client`.

    The advisor's usage is part of the responses, and booked with them.
    """

    def __init__(self, client: ModelClient, tool: Mapping[str, Any]) -> None:
        super().__init__(client)
        self._tool = tool

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        extra = own(WIRE, request.extra)
        tools = [*extra.get("tools", ()), self._tool]
        with_tools = replace(request, extra={**request.extra, WIRE: {**extra, "tools": tools}})
        return await self.client.complete(with_tools, emit)


def native_entry(tool: Mapping[str, Any], max_uses: int, max_tokens: int, caching: str) -> Mapping[str, Any]:
    """Returns the tool's entry with its terms. Raises `ConfigError` if the provider has none."""
    if not tool:
        why = "native needs two models of one provider that asks advisors itself, as Anthropic does"
        raise ConfigError(f"{why}; leave it out, and ai-battle asks the advisors.", "native")
    cache = {"type": "ephemeral", "ttl": caching} if caching else None
    return {**tool, "max_uses": max_uses, "max_tokens": max(max_tokens, LEAST_TOKENS), **present({"caching": cache})}
