"""Discussions in which models use tools, as a YAML says."""

import json
from pathlib import Path
from typing import Any

import pytest

from ai_battle import ConversationManager
from ai_battle.core.errors import ConfigError
from ai_battle.core.events import EventLog, TurnFinished, Warned
from ai_battle.core.messages import ToolCall
from ai_battle.core.tooling import ToolCalled, ToolDecided
from ai_battle.testing import FakeProviders, call
from ai_battle.tools.approval import Answer

DICE = '''
from ai_battle import tool

@tool
def roll(sides: int = 6) -> int:
    """Rolls a die that always shows its highest number."""
    return sides
'''


def discussion(tools: Any, **more: Any) -> dict[str, Any]:
    participants = {"ann": {"type": "openai/gpt-4o"}, "bob": {"type": "anthropic/claude-sonnet-4-5"}}
    for name in participants:
        participants[name] |= more.pop(name, {})
    return {"discussion": {"goal": "Compute.", "turns": 1, "models": participants, "tools": tools, **more}}


async def play(source: Any, **how: Any) -> tuple[list[TurnFinished], EventLog, Path]:
    result = await ConversationManager.from_config(source, **how).run_discussion(log := EventLog())
    turns = [event for event in log.events if isinstance(event, TurnFinished) and event.speaker]
    return turns, log, result.run_dir


async def test_one_uses_a_tool_and_the_other_hears_only_the_answer(fakes: FakeProviders) -> None:
    fakes.openai.says(call("calculator", expression="6 * 7"), "It is 42.")
    fakes.anthropic.says("I see.")
    turns, _, run_dir = await play(discussion(["calculator"]))

    assert [turn.message.text for turn in turns] == ["It is 42.", "I see."]
    assert [step.role for step in turns[0].steps] == ["assistant", "tool"]
    assert "tool_use" not in fakes.anthropic.questions[0].raw.decode()
    kinds = [json.loads(line)["type"] for line in (run_dir / "journal.jsonl").read_text().splitlines()]
    assert kinds.index("tool_called") + 1 == kinds.index("tool_returned") < kinds.index("turn_finished", 2)


async def test_what_a_model_did_with_tools_it_sees_again_in_its_next_turn(fakes: FakeProviders) -> None:
    fakes.openai.says(call("calculator", expression="6 * 7"), "It is 42.", "As I said.")
    await play(discussion(["calculator"], turns=2))
    roles = [message["role"] for message in fakes.openai.questions[-1].body["messages"]]
    assert roles[-4:] == ["assistant", "tool", "assistant", "user"]


async def test_files_are_kept_in_the_workspace_of_the_run(fakes: FakeProviders) -> None:
    wanted = {"action": "write", "path": "notes.txt", "content": "All is well."}
    fakes.openai.says(call("file_manipulation", **wanted), "Written.")
    tools = {"registry": ["file_manipulation"], "approval": {"default": "allow"}}
    _, _, run_dir = await play(discussion(tools))
    assert (run_dir / "workspace" / "notes.txt").read_text() == "All is well."


async def test_where_nothing_is_said_calls_that_write_are_asked_about_and_all_others_run(fakes: FakeProviders) -> None:
    """Code runs, because it runs behind the fence; a file is written only if a person says so."""
    asked: list[str] = []

    async def approve(call: ToolCall, participant: str) -> bool:
        asked.append(f"{call.name} {call.arguments.get('action')}")
        return True

    wanted = {"action": "write", "path": "notes.txt", "content": "All is well."}
    listing = call("file_manipulation", action="list")
    code = call("code_execution", code="print(6 * 7)")
    fakes.openai.says(call("calculator", expression="6 * 7"), listing, code, "It is there.")
    fakes.anthropic.says(call("file_manipulation", **wanted), "Written.")
    registry = ["calculator", "file_manipulation", "code_execution"]
    tools = {"registry": registry, "runner": {"max_rounds": 5}}
    _, log, run_dir = await play(discussion(tools), approve=approve)

    assert asked == ["file_manipulation write"]
    assert (run_dir / "workspace" / "notes.txt").exists()
    decided = [(e.call.name, e.by) for e in log.events if isinstance(e, ToolDecided)]
    assert decided[2:] == [("code_execution", "policy"), ("file_manipulation", "person")]


async def test_where_nobody_can_be_asked_a_call_that_writes_is_denied_and_the_model_is_told_why(
    fakes: FakeProviders,
) -> None:
    wanted = {"action": "write", "path": "notes.txt", "content": "All is well."}
    fakes.openai.says(call("file_manipulation", **wanted), "I could not write it.")
    turns, log, run_dir = await play(discussion(["file_manipulation"]))

    assert not (run_dir / "workspace" / "notes.txt").exists()
    [decided] = [event for event in log.events if isinstance(event, ToolDecided)]
    assert (decided.decision, decided.by) == ("denied", "no terminal")
    told = turns[0].steps[1].tool_results[0].text
    assert "A person has to allow this call of file_manipulation, and nobody is there who could be asked" in told


async def test_code_outside_of_the_fence_is_asked_about(fakes: FakeProviders) -> None:
    fakes.openai.says(call("code_execution", code="print(6 * 7)"), "I could not run it.")
    tools = {"registry": ["code_execution"], "sandbox": "none"}
    _, log, _ = await play(discussion(tools), allow_unsandboxed=True)
    [decided] = [event for event in log.events if isinstance(event, ToolDecided)]
    assert (decided.decision, decided.by) == ("denied", "no terminal")


async def test_a_participant_can_have_some_of_the_tools_and_nobody_has_those_that_are_denied(
    fakes: FakeProviders,
) -> None:
    tools = {"registry": ["calculator", "current_time", "web_search"], "approval": {"deny": ["web_search"]}}
    await play(discussion(tools, ann={"tools": ["calculator"]}))
    assert [tool["function"]["name"] for tool in fakes.openai.questions[0].body["tools"]] == ["calculator"]
    assert [tool["name"] for tool in fakes.anthropic.questions[0].body["tools"]] == ["calculator", "current_time"]


async def test_tools_from_a_file_are_used(fakes: FakeProviders, here: Path) -> None:
    (here / "dice.py").write_text(DICE)
    fakes.openai.says(call("roll", sides="20"), "Twenty!")
    turns, _, _ = await play(discussion({"paths": ["dice.py"]}))
    assert turns[0].steps[1].tool_results[0].text == '{"result": 20}'


async def test_no_answer_calls_more_tools_than_the_run_may(fakes: FakeProviders) -> None:
    tools = {"registry": ["calculator"], "runner": {"max_rounds": 9, "backoff_seconds": 0}}
    fakes.openai.says(*(call("calculator", expression=f"{n} + 1") for n in range(9)))
    _, log, _ = await play(discussion(tools, limits={"tool_calls": 2}))
    assert sum(isinstance(event, ToolCalled) for event in log.events) == 2


async def test_the_file_can_say_how_models_are_told_of_tools(fakes: FakeProviders) -> None:
    fakes.openai.says('```tool\n{"tool": "calculator", "parameters": {"expression": "6*7"}}\n```', "It is 42.")
    turns, _, _ = await play(discussion({"registry": ["calculator"], "calling": "text"}))
    assert turns[0].message.text == "It is 42."
    assert "tools" not in fakes.openai.questions[0].body


async def test_a_model_that_the_file_says_has_no_tools_is_told_of_them_in_the_text(fakes: FakeProviders) -> None:
    await play(discussion(["calculator"], ann={"capabilities": {"tools": False}}))
    assert "tools" not in fakes.openai.questions[0].body
    assert "tools" in fakes.anthropic.questions[0].body


async def test_an_outcome_is_asked_for_without_tools(fakes: FakeProviders) -> None:
    fakes.openai.says(call("calculator", expression="6 * 7"), "It is 42.", "The outcome is 42.", "The outcome is 42.")
    await play(discussion(["calculator"], outcome="Say what came of it."))
    last = max((*fakes.openai.questions, *fakes.anthropic.questions), key=lambda question: question.time)
    assert "Say what came of it." in last.raw.decode()
    assert "tools" not in last.body


async def test_a_program_can_be_asked_about_the_calls_that_the_file_wants_somebody_to_be_asked_about(
    fakes: FakeProviders,
) -> None:
    asked: list[tuple[str, str]] = []

    async def approve(call: ToolCall, participant: str) -> Answer:
        asked.append((participant, call.name))
        return Answer(call.name != "current_time", reason="it is late")

    tools = {"registry": ["calculator", "current_time"], "approval": {"ask": ["current_time"]}}
    ann = {"approval": {"ask": ["calculator"]}}
    fakes.openai.says(call("calculator", expression="6 * 7"), call("current_time"), "It is 42, and late.")
    fakes.anthropic.says(call("calculator", expression="6 * 8"), "48.")
    turns, log, _ = await play(discussion(tools, ann=ann), approve=approve)

    assert asked == [("ann", "calculator"), ("ann", "current_time")]
    decided = [(e.speaker, e.call.name, e.decision, e.by) for e in log.events if isinstance(e, ToolDecided)]
    assert decided == [
        ("ann", "calculator", "allowed", "person"),
        ("ann", "current_time", "denied", "person"),
        ("bob", "calculator", "allowed", "policy"),
    ]
    assert "it is late" in turns[0].steps[3].tool_results[0].text


async def test_what_approval_says_of_a_tool_that_nobody_has_is_told(fakes: FakeProviders, here: Path) -> None:
    (here / "dice.py").write_text(DICE)
    tools = {"paths": ["dice.py"], "approval": {"deny": ["rol"], "ask": ["calculator"]}}
    _, log, _ = await play(discussion(tools | {"registry": [{"name": "calculator", "enabled": False}]}))
    warned = [event.message for event in log.events if isinstance(event, Warned)]
    assert warned == ["approval names 'rol', but there is no such tool; did you mean 'roll'?"]


async def test_a_form_for_calls_in_text_has_no_effect_where_there_are_none(fakes: FakeProviders) -> None:
    tools = {"registry": ["calculator"], "tool_format": "xml"}
    _, silent, _ = await play(discussion(tools))
    _, log, _ = await play(discussion(tools | {"calling": "native"}))
    assert not [event for event in silent.events if isinstance(event, Warned)]
    [warned] = [event.message for event in log.events if isinstance(event, Warned)]
    assert warned == "discussion.tools.tool_format: has no effect with 'calling: native'"


async def test_a_model_is_told_of_the_form_that_the_file_names(fakes: FakeProviders) -> None:
    said = '<function_calls>\n<invoke name="calculator">\n<parameter name="expression">6*7</parameter>\n</invoke>\n'
    fakes.openai.says(said + "</function_calls>", "It is 42.")
    turns, _, _ = await play(discussion({"registry": ["calculator"], "calling": "text", "tool_format": "xml"}))
    assert turns[0].message.text == "It is 42."
    first, second = fakes.openai.questions
    assert "<invoke name=" in first.raw.decode().replace('\\"', '"')
    assert '<invoke name="calculator">' in second.body["messages"][-2]["content"]


@pytest.mark.parametrize(
    ("tools", "said"),
    [
        (["calculater"], "discussion.tools.registry[0]: There is no tool 'calculater'; did you mean 'calculator'?"),
        ([{"name": "calculator", "parameters": {"colour": "red"}}], "has no option 'colour'"),
        ([{"name": "code_execution", "parameters": {"timeout": -1}}], "timeout must be above 0"),
        (
            {"registry": ["calculator"], "tool_format": "jsn"},
            "discussion.tools.tool_format: There is no tool_format 'jsn'; did you mean 'json'?",
        ),
        ({"registry": ["shout"], "paths": ["missing.py"]}, "discussion.tools.paths[0]: There is no file "),
        (
            {"registry": ["calculator"], "approval": {"ask": "calculater"}},
            "discussion.tools.approval.ask[0]: no tool 'calculater' is registered in discussion.tools.registry; "
            "did you mean 'calculator'?",
        ),
    ],
    ids=["unknown", "option", "value", "format", "file", "approval"],
)
async def test_mistakes_in_tools_are_told_with_their_place_before_anything_runs(
    fakes: FakeProviders, tools: Any, said: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        ConversationManager.from_config(discussion(tools))
    assert said in str(caught.value)
    assert not fakes.openai.requests
