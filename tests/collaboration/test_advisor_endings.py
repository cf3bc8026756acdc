"""An answer that is no end of the work is asked about: it passes over a failure, is half, gives up or asks too soon."""

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
    """Returns why the advisor was asked, of a worker that says this."""
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
        "it does not mention that the last call failed"
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


@tool
def look_up(what: str, branch: str = "") -> str:
    """Looks something up."""
    return FINDINGS[what, branch]


@tool(writes=True)
def send_message(to: str, text: str) -> str:
    """Sends a message."""
    return "delivered"


FINDINGS = {
    ("library", ""): "Mon-Sat 10-19",
    ("fees", ""): "25 a year",
    ("state", "marsh"): "passed",
    ("state", "meadow"): "2 of 9 tests do not pass",
    ("signatures", ""): "signed: 41, open: 7",
    ("Elena", ""): "Kiel, Hafen 3",
}


async def reasons_of(prompt: str, *worker: Any) -> list[str]:
    """Returns why the advisor was asked, of a worker that has these two tools."""
    model, helper = ScriptedClient(*worker, "That is all."), ScriptedClient("Look again.", loop=True)
    log = EventLog()
    client = ToolCapableClient(advisor.create(model, helper), [look_up, send_message], IN_TIME)
    await client.complete(ModelRequest((user(prompt),)), log)
    return [event.reason for event in log.events if isinstance(event, HelpAsked)]


LOOK = {what: call("look_up", what=what) for what in ("library", "fees", "signatures", "Elena")}
LOOK_AT = {branch: call("look_up", what="state", branch=branch) for branch in ("marsh", "meadow")}


@pytest.mark.parametrize(
    ("prompt", "steps", "reason"),
    [
        (
            "When is the library open, and what is the fee of a year?",
            (LOOK["library"], "It is open from Monday to Saturday, 10 to 19."),
            "it leaves out a part of the request, and so did the calls",
        ),
        (
            "Did the branch meadow pass?",
            (LOOK_AT["marsh"], "The branch meadow passed."),
            "something else was looked up than what the request names",
        ),
        (
            "How many have signed?",
            (LOOK["signatures"], "48 have signed."),
            "it gives another figure than the tools returned",
        ),
        (
            "Where does Elena live?",
            (LOOK["Elena"], "One moment, I am going to check that."),
            "it speaks of itself and uses nothing that the tools returned",
        ),
        (
            "Send Ben the address of Elena.",
            (LOOK["Elena"], "I have sent Ben the address: Kiel, Hafen 3."),
            "it was asked to do something, and has changed nothing",
        ),
    ],
)
async def test_what_the_request_names_is_looked_for_in_calls_results_and_answer(
    prompt: str, steps: tuple[Any, ...], reason: str
) -> None:
    assert await reasons_of(prompt, *steps) == [reason]


@pytest.mark.parametrize(
    ("prompt", "steps"),
    [
        (
            "When is the library open, and what is the fee of a year?",
            (LOOK["library"], LOOK["fees"], "Monday to Saturday from ten to seven; a year costs 25."),
        ),
        ("Did the branch meadow pass?", (LOOK_AT["meadow"], "No, two of its tests fail.")),
        ("How many have signed?", (LOOK["signatures"], "41, and seven are open.")),
        ("Where does Elena live?", (LOOK["Elena"], "In Kiel, I found: Hafen 3.")),
        (
            "Send Ben the address of Elena.",
            (LOOK["Elena"], call("send_message", to="Ben", text="Kiel, Hafen 3"), "Done, Ben has it."),
        ),
        (
            "Frage Elena, ob sie kommt.",
            (call("send_message", to="Elena", text="Kommst du?"), "Ich habe ihr geschrieben."),
        ),
    ],
)
async def test_work_that_is_done_is_left_alone_however_it_is_told(prompt: str, steps: tuple[Any, ...]) -> None:
    assert await reasons_of(prompt, *steps) == []
