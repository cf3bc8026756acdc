"""What a model asks for again: what is run, what is answered from memory, and when it goes in circles.

A script has rounds, parted by `;`, of calls, parted by `,`. A call that ends with `!` fails, what ends with `=` finds
the same as others, and what ends with `+` finds something else each time.
"""

import asyncio
from typing import Any

import pytest

from ai_battle import Tool, ToolCapableClient
from ai_battle.core.errors import ToolError
from ai_battle.core.events import EventLog
from ai_battle.core.exchange import ModelRequest
from ai_battle.core.messages import ToolCall, user
from ai_battle.core.tooling import LoopStopped
from ai_battle.testing import ScriptedClient, call
from ai_battle.tools.calls import RunnerLimits

MANY = RunnerLimits(max_rounds=100, backoff_seconds=0)
GIVEN = "the model asks again for what it was given"
CIRCLE = "the model goes in a circle"
UNKNOWN = "the model calls tools that there are not, or writes calls that can't be read"
EDITS = "; ".join(f"write {number}; read test" for number in range(5))


class Noting(Tool):
    """Notes in `run` what it was called with."""

    name = ""
    description = "Does what it is called."
    parameters = {"what": {"type": "string", "required": True}}  # noqa: RUF012

    def __init__(self, name: str, run: list[str]) -> None:
        self.name = name
        self.writes, self.is_volatile = name == "write", name == "poll"
        self._run = run

    async def execute(self, parameters: dict[str, Any]) -> dict[str, Any]:
        what = parameters["what"]
        self._run.append(f"{self.name} {what}")
        if what.endswith("!"):
            raise ToolError(f"{what} fails")
        if what.endswith("+"):
            return {"found": len(self._run)}
        return {"found": "nothing" if what.endswith("=") else f"{self.name} {what}"}


def _call(written: str) -> ToolCall:
    tool, _, what = written.partition(" ")
    return call(tool, **({"what": what} if what else {}))


async def play(script: str, limits: RunnerLimits = MANY) -> tuple[str, str, int]:
    """Returns what was run, why it was stopped, and how often the model was told that it goes in a circle."""
    said = [{"call": list(map(_call, each.split(", ")))} for each in script.split("; ")]
    model = ScriptedClient(*said, "Done.", "Done.")
    run: list[str] = []
    tools = [Noting(name, run) for name in ("read", "write", "poll")]
    request = ModelRequest((user("Well?"),))
    await ToolCapableClient(model, tools, limits).complete(request, log := EventLog())
    reasons = [event.reason for event in log.events if isinstance(event, LoopStopped)]
    told = sum("You have asked for this before" in each.messages[-1].text for each in model.requests)
    return ", ".join(run), "".join(reasons), told


@pytest.mark.parametrize(
    ("script", "run", "stopped", "told"),
    [
        pytest.param("read a; read a", "read a", GIVEN, 0, id="equal-calls-are-answered-from-memory"),
        pytest.param("poll a+; poll a+; poll a+", "poll a+, poll a+, poll a+", "", 0, id="what-changes-may-be-watched"),
        pytest.param("poll a; poll a; poll a", "poll a, poll a", GIVEN, 0, id="what-does-not-change-ends-it"),
        pytest.param("poll a+, poll a+", "poll a+", "", 0, id="equal-calls-of-one-round-are-one"),
        pytest.param("read a, write b, read a", "read a, write b, read a", "", 0, id="what-was-written-may-be-read"),
        pytest.param("write a, write a, write b, write a", "write a, write b, write a", "", 0, id="written-again"),
        pytest.param("read a, write b!, read a", "read a, write b!, read a", "", 0, id="a-failed-write-too"),
        pytest.param("read a!, read a!", "read a!, read a!", "", 0, id="failures-are-not-remembered"),
        pytest.param("read 1!; read 2!; read 3!; read 4!; read 5!; read a",
                     "read 1!, read 2!, read 3!, read 4!, read 5!", "", 0, id="five-failures"),
        pytest.param("read 1!; read 2; read 3!; read 4; read 5!; read 6",
                     "read 1!, read 2, read 3!, read 4, read 5!, read 6", "", 0, id="a-success-forgives-failures"),
        pytest.param("read 1!; read 2!; read; read 3!; read 4!; read a",
                     "read 1!, read 2!, read 3!, read 4!", "", 0, id="calls-that-do-not-fit-are-failures"),
        pytest.param("x a; y a", "", UNKNOWN, 0, id="two-rounds-of-unknown-tools"),
        pytest.param("read a=; read b=; read c=", "read a=, read b=, read c=", CIRCLE, 1, id="the-same-of-others"),
        pytest.param("read a=, read b=, read c=", "read a=, read b=, read c=", "", 0, id="alike-in-one-round"),
        pytest.param("write a=; write b=; write c=", "write a=, write b=, write c=", "", 0, id="writes-may-be-alike"),
        pytest.param("write a; write b; write a; write b; write a",
                     "write a, write b, write a, write b, write a", CIRCLE, 1, id="two-writes-in-turns"),
        pytest.param(EDITS, EDITS.replace(";", ","), "", 0, id="an-edit-may-be-tested-each-time"),
    ],
)  # fmt: skip
async def test_calls_are_run_answered_or_refused(script: str, run: str, stopped: str, told: int) -> None:
    assert await play(script) == (run, stopped, told)


async def test_rounds_and_calls_have_limits() -> None:
    two_rounds, one_call = RunnerLimits(max_rounds=2, backoff_seconds=0), RunnerLimits(calls=1, backoff_seconds=0)
    assert await play("read a; read b; read c", two_rounds) == (
        "read a, read b", "2 of 2 rounds are used up", 0
    )  # fmt: skip
    assert await play("read a, write b", one_call) == (
        "read a", "1 calls were made, which is the limit of one answer", 0
    )  # fmt: skip


def test_the_pauses_grow_and_have_an_end() -> None:
    limits = RunnerLimits(backoff_seconds=0.1)
    assert [limits.pause_after(idle) for idle in (0, 1, 2, 3, 1000)] == [0, 0.1, 0.2, 0.4, 5.0]


async def test_rounds_that_bring_something_new_are_not_slowed_down() -> None:
    async with asyncio.timeout(60):  # with pauses, these rounds would take more than two minutes
        script = "; ".join(f"read {number}" for number in range(30))
        assert await play(script, RunnerLimits(max_rounds=100, backoff_seconds=5.0)) == (
            script.replace(";", ","),
            "",
            0,
        )
