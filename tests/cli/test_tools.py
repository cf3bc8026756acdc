"""`ai-battle tools`: lists, and one call as a model would make it."""

import json
from pathlib import Path

from .conftest import Run

DICE = '''
from ai_battle.tools.decorator import tool

@tool
def throw(sides: int = 6) -> dict[str, int]:
    """Throws a die that always shows its highest number.

    Args:
        sides: How many sides it has.
    """
    print("rolling")
    return {"shown": sides}
'''


def test_tools_are_listed_with_what_they_take(ai_battle: Run) -> None:
    listed = ai_battle("tools", "list")
    assert listed.code == 0
    assert any("(expression: string)" in line for line in listed.lines)


def test_tools_are_listed_as_json_with_their_schemas(ai_battle: Run) -> None:
    shown = json.loads(ai_battle("tools", "list", "--json").out)
    assert shown["calculator"]["parameters"]["required"] == ["expression"]


def test_a_tool_is_called_as_a_model_would_call_it(ai_battle: Run) -> None:
    called = ai_battle("tools", "call", "calculator", '{"Expression": "6 * 7"}')
    assert (called.code, json.loads(called.out)["result"]) == (0, 42)


def test_a_call_that_fails_prints_what_a_model_would_see(ai_battle: Run) -> None:
    called = ai_battle("tools", "call", "calculator", '{"expression": "six"}')
    assert called.code == 1
    assert "is not arithmetic" in json.loads(called.out)["error"]


def test_a_drop_in_file_brings_its_tools_and_its_prints_stay_in_the_result(ai_battle: Run, folder: Path) -> None:
    (folder / "dice.py").write_text(DICE, encoding="utf-8")
    called = ai_battle("tools", "call", "throw", '{"sides": "20"}', "--path", "dice.py")
    assert (called.code, json.loads(called.out)) == (0, {"shown": 20, "printed": "rolling\n"})
    assert "throw" in json.loads(ai_battle("tools", "list", "--json", "--path", ".").out)


def test_what_a_drop_in_file_prints_when_it_is_loaded_is_not_among_the_json(ai_battle: Run, folder: Path) -> None:
    (folder / "dice.py").write_text("print('hello')\n" + DICE, encoding="utf-8")
    listed = ai_battle("tools", "list", "--json", "--path", "dice.py")
    assert "throw" in json.loads(listed.out)
    assert "hello" in listed.err


def test_wrong_calls_say_what_is_wrong_and_exit_with_2(ai_battle: Run) -> None:
    for arguments, said in (
        (("tools", "call", "calculater", "{}"), "did you mean 'calculator'"),
        (("tools", "call", "", "{}"), "NAME is empty"),
        (("tools", "call", "calculator", "{expression"), "are not JSON"),
        (("tools", "call", "calculator", "[1]"), "must be a JSON object"),
        (("tools", "call", "calculator", "[" * 100_000), "are not JSON"),
        (("tools", "call", "file_manipulation", "{}", "--workspace", "nowhere"), "'nowhere' does not exist"),
        (("tools", "call", "calculator", "{}", "--set", "x"), "must be key=value"),
        (
            ("tools", "call", "code_execution", "{}", "--set", "sandbox=strickt"),
            "must be auto or strict or docker or none",
        ),
        (("tools", "call", "calculator", "{}", "--set", "colour=red"), "has no option 'colour'"),
        (("tools", "call", "calculator", "{}", "--set", "allow_unsandboxed=true"), "only on the command line"),
        (("tools", "list", "--path", "missing.py"), "does not exist"),
    ):
        called = ai_battle(*arguments)
        assert (called.code, called.out) == (2, ""), arguments
        assert said in called.err


def test_code_without_a_fence_needs_two_keys_and_is_marked(ai_battle: Run, folder: Path) -> None:
    (folder / "work").mkdir()
    code = ("tools", "call", "code_execution", '{"code": "print(1)"}', "--workspace", "work", "--set", "sandbox=none")
    refused = ai_battle(*code)
    assert (refused.code, refused.out) == (3, "")
    assert "--allow-unsandboxed" in refused.err
    allowed = ai_battle(*code, "--allow-unsandboxed")
    assert (allowed.code, json.loads(allowed.out)["stdout"]) == (0, "1\n")
    assert "without a fence" in allowed.err


TABLE = """
discussion:
  goal: Throw.
  turns: 1
  models:
    Ann: {type: scripted/ann, script: [{call: {tool: dice, parameters: {notation: 2d6}}}, "Thrown."]}
    Bob: {type: scripted/bob, script: [Well.]}
  tools: {registry: [dice]%s}
"""


def test_a_drop_in_that_comes_with_the_package_is_found_by_its_name_from_any_folder(
    ai_battle: Run, folder: Path
) -> None:
    (folder / "table.yaml").write_text(TABLE % "")

    assert ai_battle("validate", "table.yaml").lines == ["table.yaml: ok"]
    assert '"total":' in ai_battle("run", "table.yaml").out


def test_a_file_of_ones_own_takes_the_place_of_a_drop_in_of_that_name(ai_battle: Run, folder: Path) -> None:
    (folder / "table.yaml").write_text(TABLE % ", paths: [dice.py]")
    own = DICE.replace("throw", "dice").replace("sides: int = 6", 'notation: str = ""').replace("sides", "notation")
    (folder / "dice.py").write_text(own.replace("dict[str, int]", "dict[str, str]"))

    assert '{"shown": "2d6"' in ai_battle("run", "table.yaml", "--trust").out


def test_a_drop_in_that_nobody_knows_is_answered_with_near_names(ai_battle: Run, folder: Path) -> None:
    (folder / "table.yaml").write_text((TABLE % "").replace("[dice]", "[dicee]"))

    assert "did you mean 'dice'?" in ai_battle("validate", "table.yaml").out
