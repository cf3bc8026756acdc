"""A tool as a check of answers: what it is given, and what its result says."""

from collections.abc import Mapping
from typing import Any

import pytest

from ai_battle.core.errors import ToolError
from ai_battle.core.events import EventLog
from ai_battle.core.ledger import Budget, SpendingLimits, charge_to
from ai_battle.core.tooling import ToolCalled, ToolReturned
from ai_battle.tools.base import Tool
from ai_battle.tools.calls import RunnerLimits
from ai_battle.tools.toolset import ToolCheck

from .conftest import manager_of

BLOCKS = "```bash\npip install nothing\n```\nand\n```py\nx = 1\n```\nand\n```python3\nprint(x)\n```"


class Marking(Tool):
    """Returns what it is told to, and keeps what it was given."""

    name = "marking"
    description = "Marks an answer."
    parameters: Mapping[str, Any] = {}

    def __init__(self, returns: Any, *parameters: str) -> None:
        self.returns = returns
        self.parameters = {each: {"type": "string", "required": each == "answer"} for each in parameters}
        self.given: dict[str, Any] = {}

    async def execute(self, parameters: dict[str, Any]) -> dict[str, Any]:
        self.given = parameters
        found: dict[str, Any] = self.returns
        return found


def checking(tool: Tool) -> ToolCheck:
    return ToolCheck("marking", manager_of(tool), RunnerLimits())


async def findings(returns: Any) -> tuple[dict[str, float], str]:
    said = await checking(Marking(returns, "answer"))("Prompt?", "Answer.", EventLog())
    assert said
    return dict(said[0].signals), said[1]


@pytest.mark.parametrize(
    ("returns", "signals", "report"),
    [
        ({"passed": True}, {"check_passes": 1.0}, ""),
        ({"passed": False, "reason": "2 of 3"}, {"check_fails": 1.0}, "2 of 3"),
        ({"passed": 0.25, "reason": "1 of 4"}, {"check_passes": 0.25, "check_fails": 0.75}, "1 of 4"),
        ({"exit_code": 0, "stdout": "fine"}, {"program_runs": 1.0}, ""),
        ({"exit_code": 1, "stdout": "so far", "stderr": "Boom"}, {"program_fails": 1.0}, "so far\nBoom"),
        ({"exit_code": 1, "passed": True}, {"check_passes": 1.0}, ""),
    ],
)
async def test_a_result_says_whether_the_answer_holds(returns: Any, signals: dict[str, float], report: str) -> None:
    assert await findings(returns) == (signals, report)


@pytest.mark.parametrize(
    ("returns", "words"),
    [
        ({"passed": True}, "it passes"),
        ({"passed": False}, "it fails"),
        ({"passed": 0.25}, "25% of it passes"),
        ({"exit_code": 0}, "its program runs"),
        ({"exit_code": -9}, "its program fails"),
    ],
)
async def test_what_was_found_is_told_in_words(returns: Any, words: str) -> None:
    said = await checking(Marking(returns, "answer"))("Prompt?", "Answer.", EventLog())

    assert said
    assert said[0].reason == words


async def test_of_a_long_report_the_end_is_kept() -> None:
    _, report = await findings({"passed": False, "reason": "x" * 5_000 + "NameError"})

    assert (len(report), report[-9:]) == (2_000, "NameError")


@pytest.mark.parametrize(
    ("returns", "problem"),
    [
        ({"error": "The disk is full."}, "The disk is full."),
        ({"grade": "A"}, "neither 'passed' nor 'exit_code'"),
        ({"passed": 7}, "neither 'passed' nor 'exit_code'"),
        ({"passed": "yes"}, "neither 'passed' nor 'exit_code'"),
    ],
)
async def test_a_result_that_says_nothing_is_an_error(returns: Any, problem: str) -> None:
    with pytest.raises(ToolError, match=problem):
        await findings(returns)


async def test_it_is_given_what_it_has_parameters_for() -> None:
    tool = Marking({"passed": True}, "prompt", "answer", "language", "other")
    await checking(tool)("Add.", BLOCKS, EventLog())

    assert tool.given == {"prompt": "Add.", "answer": BLOCKS, "language": "python"}


async def test_python_is_run_before_a_shell_and_in_one_piece() -> None:
    tool = Marking({"exit_code": 0}, "code")
    await checking(tool)("Add.", BLOCKS, EventLog())

    assert tool.given == {"code": "x = 1\n\n\nprint(x)\n"}


@pytest.mark.parametrize("answer", ["No code.", "```\nplain\n```", "```rust\nfn main() {}\n```", "```python\n```"])
async def test_without_a_program_there_is_nothing_to_run(answer: str) -> None:
    tool = Marking({"exit_code": 0}, "code")

    assert await checking(tool)("Add.", answer, log := EventLog()) is None
    assert log.events == []


@pytest.mark.parametrize(
    ("tool", "problem"),
    [(Marking({}, "city"), "checks no answers"), (Marking({}), "checks no answers")],
)
async def test_a_tool_that_takes_no_answer_is_no_check(tool: Tool, problem: str) -> None:
    with pytest.raises(ToolError, match=problem):
        await checking(tool)("Add.", BLOCKS, EventLog())


async def test_its_calls_are_heard_and_count() -> None:
    check = checking(Marking({"passed": True}, "answer"))
    with charge_to(budget := Budget(SpendingLimits(tool_calls=1))):
        await check("Add.", "1", log := EventLog())
        with pytest.raises(ToolError, match=r"the limit of the run is reached: tool_calls \(1 of 1\)"):
            await check("Add.", "2", EventLog())

    assert [type(event) for event in log.events] == [ToolCalled, ToolReturned]
    assert budget.ledger.tool_calls == 1


async def test_a_tool_that_is_not_there_is_named() -> None:
    check = ToolCheck("unit_tests", manager_of(), RunnerLimits())

    with pytest.raises(ToolError, match="there is no tool 'unit_tests'"):
        await check("Add.", "1", EventLog())
