"""A call that is only proposed is not run; the model is asked once whether it meant it, and people see it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ai_battle import ConversationManager, ToolUseProtocol
from ai_battle.core.client import ModelClient
from ai_battle.core.events import EventLog, TextDelta
from ai_battle.core.tooling import ToolProposed
from ai_battle.reporting.exports import export
from ai_battle.testing import FakeProviders, ScriptedClient
from ai_battle.tools.base import ToolRegistry
from ai_battle.tools.client import ToolCapableClient
from ai_battle.tools.formats.text import TextTools
from ai_battle.tools.manager import ToolManager

from .test_client import QUICK, Recording, model_request


def block(what: str) -> str:
    return f'```tool\n{{"tool": "look", "parameters": {{"what": "{what}"}}}}\n```'


OFFER = f"Either of these would do:\n\n{block('roses')}\n\n{block('tulips')}\n\nWhich do you want?"
WAYS = pytest.mark.parametrize("way", [lambda model: model, TextTools], ids=["native", "text"])


@WAYS
async def test_what_is_offered_is_not_run_and_the_question_is_what_is_said(
    way: Callable[[ModelClient], ModelClient],
) -> None:
    model, tool = ScriptedClient(OFFER, "OK"), Recording()
    client = ToolCapableClient(way(model), [tool], QUICK)
    response = await client.complete(model_request(), log := EventLog())

    assert not tool.calls
    assert response.text == OFFER
    assert "".join(event.text for event in log.events if isinstance(event, TextDelta)) == OFFER
    proposed = [(event.call.arguments["what"], event.kind) for event in log.events if isinstance(event, ToolProposed)]
    assert proposed == [("roses", "question"), ("tulips", "question")]


@WAYS
async def test_the_model_is_asked_once_and_a_call_alone_is_then_run(way: Callable[[ModelClient], ModelClient]) -> None:
    model, tool = ScriptedClient(OFFER, block("tulips"), "They are in the shed."), Recording()
    response = await ToolCapableClient(way(model), [tool], QUICK).complete(model_request())

    assert tool.calls == [{"what": "tulips"}]
    assert response.text == "They are in the shed."
    assert "If you mean it to be run now, respond with the call and nothing else" in model.requests[1].messages[-1].text


async def test_it_is_asked_no_second_time() -> None:
    again = f"As I said, I will not run this:\n{block('weeds')}"
    model, tool = ScriptedClient(OFFER, again), Recording()
    response = await ToolCapableClient(model, [tool], QUICK).complete(model_request())
    assert (response.text, len(model.requests), tool.calls) == (OFFER, 2, [])


async def test_after_a_call_has_run_it_is_asked_about_the_next_one() -> None:
    steps = [f"If I may:\n{block(what)}" for what in ("roses", "tulips")]
    model, tool = ScriptedClient(steps[0], block("roses"), steps[1], block("tulips"), "Both."), Recording()
    response = await ToolCapableClient(model, [tool], QUICK).complete(model_request())
    assert (response.text, tool.calls) == ("Both.", [{"what": "roses"}, {"what": "tulips"}])


async def test_beside_a_call_that_is_meant_another_can_be_a_proposal() -> None:
    said = f"Looking.\n{block('roses')}\nIf you agree, I would look for these, too:\n{block('tulips')}"
    model, tool = ScriptedClient(said, "Here they are."), Recording()
    await ToolCapableClient(TextTools(model), [tool], QUICK).complete(model_request(), log := EventLog())
    assert tool.calls == [{"what": "roses"}]
    assert [event.kind for event in log.events if isinstance(event, ToolProposed)] == ["condition"]


async def test_a_call_that_writes_is_not_run_where_text_follows_it() -> None:
    model, tool = ScriptedClient(f"{block('weeds')}\nThat is how it goes.", "OK"), Recording(writes=True)
    await ToolCapableClient(TextTools(model), [tool], QUICK).complete(model_request())
    assert not tool.calls


async def test_programs_that_have_only_strings_get_a_proposal_back_as_it_stands() -> None:
    tool = Recording()
    assert await ToolUseProtocol(ToolManager(ToolRegistry([tool]))).process_response(OFFER) == OFFER
    assert not tool.calls


async def test_people_see_a_proposal_in_the_journal_the_transcript_and_the_report(
    fakes: FakeProviders, tmp_path: Path
) -> None:
    offer = '```tool\n{"tool": "calculator", "parameters": {"expression": "6 * 7"}}\n```\n\nShall I?'
    fakes.openai.says(offer, "OK")
    fakes.anthropic.says("Yes.")
    models = {"ann": {"type": "openai/gpt-4o"}, "bob": {"type": "anthropic/claude-sonnet-4-5"}}
    discussion = {"goal": "Compute.", "turns": 1, "models": models, "tools": ["calculator"]}
    run = await ConversationManager.from_config({"discussion": discussion}, out=tmp_path / "run").run_discussion()

    events = [json.loads(line) for line in (run.run_dir / "journal.jsonl").read_text().splitlines()]
    [proposed] = [event for event in events if event["type"] == "tool_proposed"]
    assert (proposed["speaker"], proposed["kind"]) == ("ann", "question")
    for form in ("md", "html"):
        told = "".join(export(run.run_dir, form))
        assert "ann proposes calculator" in told
        assert "it was not run: it stands beside a question" in told
