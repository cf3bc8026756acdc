"""Which calls run, which a person is asked about, and which are denied."""

import asyncio
from typing import Any

import pytest

from ai_battle.config.tools import Approval
from ai_battle.core.client import TurnCalls, among
from ai_battle.core.events import Event, EventLog
from ai_battle.core.exchange import ModelRequest, ModelResponse
from ai_battle.core.messages import ToolCall, user
from ai_battle.core.tooling import LoopStopped, ToolCalled, ToolDecided, ToolsOffered
from ai_battle.testing import ScriptedClient, call
from ai_battle.tools.approval import Answer, Approver, Consent, Decision
from ai_battle.tools.base import Tool
from ai_battle.tools.calls import RunnerLimits
from ai_battle.tools.client import ToolCapableClient
from ai_battle.tools.formats.text import TextTools
from tests.tools.test_client import Recording

ASKING = Approval(default="ask")
QUICK = RunnerLimits(max_rounds=9, backoff_seconds=0)
FIVE = {"call": [{"tool": "look", "parameters": {"what": f"{number}"}} for number in range(5)]}
REQUEST = ModelRequest((user("Go."),))


class Asked:
    """A person who answers as the test says, and remembers what was asked."""

    def __init__(self, *answers: Answer | bool | None) -> None:
        self.calls: list[tuple[str, str, Any]] = []
        self.most_at_once = 0
        self._answers = list(answers)
        self._now = 0

    async def __call__(self, call: ToolCall, participant: str) -> Answer | bool | None:
        self._now += 1
        self.most_at_once = max(self.most_at_once, self._now)
        self.calls.append((participant, call.name, dict(call.arguments)))
        await asyncio.sleep(0.01)
        self._now -= 1
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


async def ask(
    *script: Any, tools: list[Tool], said: tuple[Approval, ...] = (ASKING,), person: Approver | None = None
) -> tuple[ModelResponse, ScriptedClient, list[Event]]:
    model = ScriptedClient(*script)
    client = ToolCapableClient(model, tools, QUICK, consent=Consent("ann", said, person))
    response = await client.complete(REQUEST, log := EventLog())
    return response, model, log.events


def decisions(events: list[Event]) -> list[tuple[str, str, str]]:
    return [(one.call.name, one.decision, one.by) for one in events if isinstance(one, ToolDecided)]


def told_results(model: ScriptedClient, request: int = 1) -> list[str]:
    """Returns what the tools are said to have returned in that request."""
    return [result.text for message in model.requests[request].messages for result in message.tool_results]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (Approval(), None),
        (Approval(default="allow"), "allow"),
        (Approval(default="deny", allow=("look",)), "allow"),
        (Approval(ask=("look",)), "ask"),
        (Approval(allow=("look",), ask=("look",)), "ask"),
        (Approval(ask=("look",), deny=("look",)), "deny"),
        (Approval(default="ask", deny=("other",)), "ask"),
    ],
)
def test_a_tool_is_in_the_strictest_list_that_names_it_else_the_default_holds(
    said: Approval, expected: str | None
) -> None:
    assert said.verdict("look") == expected


async def test_what_is_said_of_a_participant_can_only_be_stricter_than_what_is_said_of_all() -> None:
    strict, lenient = Approval(deny=("look",)), Approval(allow=("look",))
    for both in ((strict, lenient), (lenient, strict)):
        assert await Consent("ann", both).decide(ToolCall("look")) == Decision(False, "policy")


async def test_an_allowed_call_runs_and_the_decision_comes_before_it() -> None:
    tool = Recording()
    _, _, events = await ask(call("look"), "Done.", tools=[tool], said=(Approval(),))

    assert tool.calls == [{"what": "all"}]
    assert decisions(events) == [("look", "allowed", "policy")]
    kinds = [type(event) for event in events]
    assert kinds.index(ToolDecided) < kinds.index(ToolCalled)


async def test_a_person_is_asked_about_what_would_run_with_its_defaults() -> None:
    person = Asked(True)
    _, _, events = await ask(call("look"), "Done.", tools=[tool := Recording()], person=Approver(person))

    assert person.calls == [("ann", "look", {"what": "all"})]
    assert len(tool.calls) == 1
    assert decisions(events) == [("look", "allowed", "person")]


async def test_what_a_person_refuses_does_not_run_and_the_model_is_told_why() -> None:
    person = Asked(Answer(False, reason="not on a Sunday"))
    response, model, events = await ask(call("look"), "Well.", tools=[tool := Recording()], person=Approver(person))

    assert tool.calls == []
    assert response.text == "Well."
    assert "A person refused this call: not on a Sunday." in told_results(model)[0]
    assert model.requests[1].messages[-1].tool_results[0].is_error
    assert decisions(events) == [("look", "denied", "person")]
    assert not [event for event in events if isinstance(event, ToolCalled)]


async def test_where_nobody_can_be_asked_the_call_is_denied() -> None:
    for person in (None, Approver(Asked(None))):
        _, model, events = await ask(call("look"), "Well.", tools=[tool := Recording()], person=person)
        assert tool.calls == []
        assert decisions(events) == [("look", "denied", "no terminal")]
        assert "nobody is there who could be asked" in told_results(model)[0]


async def test_refusals_are_no_failures_so_the_tool_stays() -> None:
    script = [call("look", what=f"{number}") for number in range(4)]
    _, model, _ = await ask(*script, "Done.", tools=[Recording()], person=Approver(Asked(False)))
    assert [len(request.tools) for request in model.requests] == [1] * 5


async def test_nobody_is_asked_twice_about_an_equal_call_in_one_answer() -> None:
    person = Asked(False)
    _, model, events = await ask(call("look"), call("look"), "Well.", tools=[Recording()], person=Approver(person))

    assert len(person.calls) == 1
    assert len(decisions(events)) == 1
    assert all("A person refused this call" in text for text in told_results(model, -1))
    assert all(r.is_error for message in model.requests[-1].messages for r in message.tool_results)


async def test_always_holds_for_this_tool_and_no_other() -> None:
    person = Asked(Answer(True, for_good=True), False)
    script = [call("look", what="a"), call("look", what="b"), call("write", what="c"), "Done."]
    tools: list[Tool] = [look := Recording("look"), write := Recording("write", writes=True)]
    await ask(*script, tools=tools, person=Approver(person))

    assert [name for _, name, _ in person.calls] == ["look", "write"]
    assert (len(look.calls), len(write.calls)) == (2, 0)


async def test_a_tool_that_was_refused_for_good_is_offered_no_more() -> None:
    person = Approver(Asked(Answer(False, for_good=True)))
    tools: list[Tool] = [Recording("look"), Recording("read")]
    _, model, _ = await ask(call("look"), "Done.", tools=tools, person=person)
    assert [spec.name for spec in model.requests[1].tools] == ["read"]

    _, again, events = await ask("Hello.", tools=tools, person=person)
    assert [spec.name for spec in again.requests[0].tools] == ["read"]
    assert [event.tools for event in events if isinstance(event, ToolsOffered)] == [again.requests[0].tools]


async def test_calls_that_come_at_once_are_asked_about_one_after_another() -> None:
    person = Asked(True)
    await ask(FIVE, "Done.", tools=[tool := Recording()], person=Approver(person))

    assert person.most_at_once == 1
    assert [arguments["what"] for _, _, arguments in person.calls] == ["0", "1", "2", "3", "4"]
    assert len(tool.calls) == 5


async def test_an_answer_for_good_also_holds_for_those_who_wait_for_theirs() -> None:
    person = Asked(Answer(True, for_good=True))
    _, _, events = await ask(FIVE, "Done.", tools=[Recording()], person=Approver(person))

    assert len(person.calls) == 1
    assert decisions(events) == [("look", "allowed", "person")] * 5


async def test_a_denied_tool_is_not_offered_and_a_call_of_it_is_refused_all_the_same() -> None:
    said = (Approval(deny=("look",)),)
    tools: list[Tool] = [tool := Recording("look"), Recording("read")]
    _, model, events = await ask(call("look"), "Done.", tools=tools, said=said)

    assert [spec.name for spec in model.requests[0].tools] == ["read"]
    assert tool.calls == []
    assert decisions(events) == [("look", "denied", "policy")]
    assert "look may not be used in this discussion" in told_results(model)[0]


async def test_a_call_of_a_denied_tool_that_stands_in_the_text_is_one_of_a_tool_that_there_is_not() -> None:
    model = ScriptedClient('```tool\n{"tool": "look", "parameters": {}}\n```', "Done.")
    consent = Consent("ann", (Approval(deny=("look",)),))
    tools = [tool := Recording("look"), Recording("read")]
    client = ToolCapableClient(TextTools(model), tools, QUICK, consent=consent)
    response = await client.complete(REQUEST, log := EventLog())

    assert "look(" not in model.requests[0].system
    assert tool.calls == []
    assert decisions(log.events) == []
    assert "look" in model.requests[1].messages[-1].text
    assert response.text == "Done."


async def test_where_all_tools_are_denied_the_model_is_asked_without() -> None:
    _, model, events = await ask("Hello.", tools=[Recording()], said=(Approval(default="deny"),))
    assert model.requests[0].tools == ()
    assert not [event for event in events if isinstance(event, LoopStopped)]


async def test_a_call_that_could_not_run_bothers_nobody() -> None:
    person = Asked(True)
    await ask(call("look", what=[1]), call("lok"), "Done.", tools=[Recording()], person=Approver(person))
    assert person.calls == []


async def test_what_asks_may_fail_and_then_the_call_is_denied() -> None:
    async def ring_broken_bell(call: ToolCall, participant: str) -> bool:
        raise RuntimeError("the bell is broken")

    _, model, _ = await ask(call("look"), "Well.", tools=[tool := Recording()], person=Approver(ring_broken_bell))
    assert tool.calls == []
    assert "the bell is broken" in told_results(model)[0]


async def test_a_person_who_refused_a_call_of_one_draft_is_not_asked_by_the_next() -> None:
    asked, tool = Asked(Answer(False, reason="no")), Recording()
    with among(TurnCalls()):
        for _ in range(2):
            _, model, _ = await ask(call("look", what="a"), "Well.", tools=[tool], person=Approver(asked))

    assert len(asked.calls) == 1
    assert "A person refused this call: no." in told_results(model)[0]
    assert not tool.calls
