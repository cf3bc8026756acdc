"""An answer that is no end of the work is asked about: what failed is passed over, given up or asked back too soon."""

from typing import Any

import pytest

from ai_battle.collaboration import advisor
from ai_battle.core.events import EventLog
from ai_battle.core.exchange import ModelRequest
from ai_battle.core.helping import HelpAsked
from ai_battle.core.messages import assistant, user
from ai_battle.testing import ScriptedClient, call
from ai_battle.tools.calls import RunnerLimits
from ai_battle.tools.client import ToolCapableClient
from ai_battle.tools.decorator import tool

RUN, RUN_ALL, RUN_AGAIN = (call("run", command=command) for command in ("make", "make all", "make clean all"))
IN_TIME = RunnerLimits(max_rounds=9, backoff_seconds=0)


async def reasons(
    *worker: Any, results: tuple[str, ...] = (), prompt: str = "Build it.", before: str = ""
) -> list[str]:
    """Why the advisor was asked, of a worker that says this."""
    brought = iter(results)

    @tool(writes=True)
    def run(command: str) -> str:
        """Runs a command."""
        return next(brought)

    model, helper = ScriptedClient(*worker), ScriptedClient("Try once more.", loop=True)
    client = ToolCapableClient(advisor.create(model, helper), [run], IN_TIME)
    talk = (user("Hello."), assistant(before)) if before else ()
    log = EventLog()
    await client.complete(ModelRequest((*talk, user(prompt))), log)
    return [event.reason for event in log.events if isinstance(event, HelpAsked)]


@pytest.mark.parametrize(
    "result",
    [
        "main.c:3: error: ';' expected",
        "2 failed, 7 passed",
        "upload rejected: too large",
        '{"ok": false, "why": "locked"}',
        "Vorgang abgelehnt: kein Platz",
    ],
)
async def test_success_is_not_told_where_the_last_call_failed(result: str) -> None:
    assert await reasons(RUN, "It is done now.", RUN_ALL, "It is built.", results=(result, "ok")) == [
        "it says nothing of it that the last call failed"
    ]


@pytest.mark.parametrize(
    ("result", "answer"),
    [
        ("2 failed, 7 passed", "Two of the nine tests fail."),
        ("error: disk full", "It could not be built: the disk is full."),
        ("41 passed, 0 failed", "All 41 tests pass."),
        ("done, no errors", "It is built."),
        ("errors: 0", "It is built."),
        (" ".join(["the word error in a long text that is no message"] * 20), "The text speaks of mistakes."),
    ],
)
async def test_a_failure_that_is_told_or_was_none_brings_no_advice(result: str, answer: str) -> None:
    assert await reasons(RUN, answer, results=(result,)) == []


@pytest.mark.parametrize("answer", ["I'm sorry, but I can't run commands.", "Unfortunately I can't do that."])
async def test_who_gives_up_before_any_call_is_helped(answer: str) -> None:
    assert len(await reasons(answer, RUN, "It is built.", results=("ok",))) == 1


async def test_who_asks_back_before_any_call_is_helped_once_and_may_ask_all_the_same() -> None:
    again = "Which target shall I build?"

    assert await reasons("Which one do you mean?", again) == ["it asks back before it has looked with a tool"]


async def test_a_question_after_a_look_or_later_in_a_talk_is_a_turn_like_any_other() -> None:
    assert await reasons(RUN, "Two targets are there. Which one?", results=("app, lib",)) == []
    assert await reasons("Which one do you mean?", before="Hello! How can I help?") == []


async def test_two_results_in_a_row_that_tell_of_failure_are_trouble_whatever_the_tool_calls_them() -> None:
    failing = ("UnicodeDecodeError: byte 0xd0", "NameError: name 'x' is not defined", "ok")

    assert await reasons(RUN, RUN_ALL, RUN_AGAIN, "It is built.", results=failing) == ["two calls in a row failed"]
