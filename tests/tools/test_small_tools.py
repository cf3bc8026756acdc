"""The calculator reads expressions and runs nothing; the clock knows time zones; code runs behind the fence."""

import math
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ai_battle.tools.base import Tool
from ai_battle.tools.builtin.calculator import CalculatorTool
from ai_battle.tools.builtin.code_execution import CodeExecutionTool
from ai_battle.tools.builtin.current_time import CurrentTimeTool
from ai_battle.tools.builtin.file_manipulation import FileManipulationTool
from ai_battle.tools.sandbox import NoFence, choose

from .conftest import Call


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("1 + 2 * 3", 7),
        ("2 ** 10", 1024),
        ("2^10", 1024),
        ("-2 ** 2", -4),
        ("7 // 2 + 7 % 4", 6),
        ("10 / 4", 2.5),
        ("3 \u00d7 4 \u00f7 2 \u2212 1", 5.0),
        ("\u221a(16)", 4.0),
        ("sqrt(2) * sqrt(2)", math.sqrt(2) ** 2),
        ("sin(pi / 2) + cos(0)", 2.0),
        ("ln(e)", 1.0),
        ("log(8, 2)", 3.0),
        ("factorial(20)", math.factorial(20)),
        ("comb(52, 5)", 2_598_960),
        ("gcd(12, 18) + lcm(4, 6)", 18),
        ("round(2.5 * 3, 1) + round(2.7)", 10.5),
        ("sum([1, 2, 3]) + mean([1, 2]) + max(1, 5)", 12.5),
        ("1_000 * 0xff + 1e3", 256000.0),
        ("3 > 2", True),
        ("  1+1\n", 2),
        ("2**0.5", math.sqrt(2)),
        ("123456789 ** 20", 123456789**20),
    ],
)
async def test_expressions_have_their_value(call_tool: Call, expression: str, result: Any) -> None:
    assert await call_tool(CalculatorTool(), expression=expression) == {"expression": expression, "result": result}


@pytest.mark.parametrize(
    "expression",
    [
        "", "1 +", "six", "1 / 0", "sqrt(-1)", "(-8) ** (1/3)", "log(0)", "9 ** 9 ** 9", "factorial(100000)",
        "factorial(2.5)", "comb(100000, 5000)", "2 ** 100000", "1e308 * 10", "1e999", "10 ** 5000 * 10 ** 5000",
        "__import__('os').system('id')", "().__class__", "open('/etc/passwd')", "lambda: 1", "[x for x in (1,)]",
        "'a' * 10", "[1] * 1000000000", "1 if 1 else 2", "print(1)", "eval('1')", "sum.__self__", "f'{1}'", "x := 1",
        "1; 2", "import os", "a.b", "a[0]", "sum(1, 2, 3, 4)", "round()", "min()", "max([])", "not 1", "1 < 2 < 3",
        "pow(2, 2, 2)", "sqrt(x=4)", "True + 'a'", "1 << 100000", "mean([])", "(" * 500 + "1" + ")" * 500,
        "-" * 1500 + "1", "1+" * 900 + "1", "9" * 5000, "\0", "1" * 1900 + "**2", "sum([[1]])",
        "round(10 ** 300, -10 ** 9)", "round(1.5, 10 ** 9)", "1,000 + 1", "(1, 2)", "factorial([1])",
        "stdev([1e308, -1e308], 1.5)",
    ],
    ids=lambda expression: repr(expression)[:40],
)  # fmt: skip
async def test_what_is_no_arithmetic_or_too_much_of_it_is_told(call_tool: Call, expression: str) -> None:
    assert set(await call_tool(CalculatorTool(), expression=expression)) == {"error"}


async def test_the_time_is_told_where_it_is_asked_for(call_tool: Call) -> None:
    now = await call_tool(CurrentTimeTool())
    assert abs(datetime.fromisoformat(now["iso"]) - datetime.now(UTC)).total_seconds() < 5
    assert (now["timezone"], now["utc_offset"]) == ("UTC", "+0000")
    tokyo = await call_tool(CurrentTimeTool(), timezone="Asia/Tokyo")
    assert tokyo["utc_offset"] == "+0900"
    assert abs(tokyo["unix"] - now["unix"]) < 5
    assert "weekday" in await call_tool(CurrentTimeTool(), timezone="local")


@pytest.mark.parametrize("name", ["Mars/Olympus", "../../etc/passwd", "/etc/localtime", "", "\0", "Europe", "a" * 5000])
async def test_a_time_zone_that_there_is_not_is_told(call_tool: Call, name: str) -> None:
    assert "There is no time zone" in (await call_tool(CurrentTimeTool(), timezone=name))["error"]


def _can_run_code() -> bool:
    try:
        choose()
    except NoFence:
        return False
    return True


needs_fence = pytest.mark.skipif(not _can_run_code(), reason="this machine has no fence for code")


@needs_fence
async def test_code_runs_and_says_what_came_of_it(tmp_path: Path, call_tool: Call) -> None:
    tool = CodeExecutionTool(tmp_path / "work")
    ran = await call_tool(tool, code="print(6 * 7); import sys; sys.exit(3)")
    assert ran == {"stdout": "42\n", "stderr": "", "exit_code": 3}
    await call_tool(tool, language="bash", code="echo kept > file.txt")
    assert (await call_tool(tool, language="Python", code="print(open('file.txt').read())"))["stdout"] == "kept\n\n"


@needs_fence
async def test_the_timeout_of_the_settings_is_the_most_that_a_model_can_ask_for(
    tmp_path: Path, call_tool: Call
) -> None:
    tool = CodeExecutionTool(tmp_path, timeout=0.5)
    assert tool.parameters["timeout"]["default"] == 0.5
    ran = await call_tool(tool, code="print(1, flush=True)\nwhile True: pass", timeout=60)
    assert (ran["error"], ran["stdout"]) == ("Execution timed out after 0.5 s", "1\n")


async def test_code_runs_nowhere_without_a_fence_unless_both_keys_are_given(tmp_path: Path, call_tool: Call) -> None:
    assert "--allow-unsandboxed" in (await call_tool(CodeExecutionTool(tmp_path, sandbox="none"), code="1"))["error"]
    open_ = CodeExecutionTool(tmp_path, sandbox="none", allow_unsandboxed=True)
    assert (await call_tool(open_, code="print(1)"))["stdout"] == "1\n"


async def test_a_language_that_there_is_not_is_told(tmp_path: Path) -> None:
    ran = await CodeExecutionTool(tmp_path).execute({"language": "cobol", "code": ""})
    assert ran == {"error": "Unsupported language: cobol"}


@needs_fence
async def test_a_tool_that_nobody_gave_a_workspace_has_a_temporary_one() -> None:
    tool = CodeExecutionTool()
    ran = await tool.execute({"code": "import os; print(os.getcwd() + '|' + str(os.listdir()))"})
    assert ran["stdout"].endswith("|[]\n")
    assert tool.parameters["timeout"]["default"] == 10
    workspace = tool.workspace
    del tool
    with pytest.raises(FileNotFoundError):
        os.listdir(workspace)


@pytest.mark.parametrize("tool", [CalculatorTool(), CurrentTimeTool(), FileManipulationTool(Path("/"))], ids=type)
async def test_what_fails_is_an_error_without_a_manager_too(tool: Tool) -> None:
    assert set(await tool.execute({"expression": "six", "timezone": "Mars", "action": "list"})) == {"error"}
