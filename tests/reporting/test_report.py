"""Who has only report.html knows what the run was about, who took part, who helped whom, and what that cost."""

from pathlib import Path

import pytest

from ai_battle import CollaborativeConversationManager
from ai_battle.core.events import TurnFinished, TurnStarted
from ai_battle.core.messages import Message, Text, ToolCall, ToolResult, assistant
from ai_battle.reporting.exports import export
from ai_battle.testing import FakeProviders

from .runs import ANN, EVENTS, write_run
from .test_html import Page

STUCK = "I do not know. " * 40
SOURCE = {
    "discussion": {
        "goal": "Find the number of dwarfs.\nTake your time.",
        "turns": 1,
        "models": {
            "small": {"type": "ollama/phi4", "persona": "You love **fairy tales**.", "parameters": {"seed": 7}},
            "other": {"type": "scripted", "script": ["Go on."], "role": "human"},
        },
        "collaboration": {"pairs": [{"primary": "small", "secondary": "gpt-4o"}]},
    }
}


@pytest.fixture
async def report(fakes: FakeProviders, tmp_path: Path) -> str:
    fakes.ollama.says(STUCK, "The number is seven.")
    fakes.openai.says("Count the **dwarfs**.")
    manager = CollaborativeConversationManager.from_config(SOURCE, out=tmp_path / "run")
    return "".join(export((await manager.run_discussion()).run_dir, "html"))


async def test_its_title_is_the_goal(report: str) -> None:
    assert "<title>Find the number of dwarfs.</title>" in report
    assert "<h1>Find the number of dwarfs.</h1>" in report


async def test_personas_and_the_configuration_are_in_it(report: str) -> None:
    assert "<summary>small: ollama/phi4</summary>" in report
    assert "You love <strong>fairy tales</strong>." in report
    assert "<pre>parameters:\n  seed: 7</pre>" in report
    assert "secondary: gpt-4o" in report


async def test_who_helped_whom_when_why_what_was_said_what_it_cost_and_what_it_changed(report: str) -> None:
    turn = report[report.index('id="turn-1"') :]
    page = Page(f"<html>{turn[turn.index('<h2>') : turn.index('</article>')]}</html>")
    told = "\n".join(text.strip() for text in page.texts if text.strip())

    assert "gpt-4o answers as the helper of small (" in told
    assert "tokens, $0.0" in told
    assert "the answer goes round in circles at its end" in told, "why"
    assert "Count the\ndwarfs" in told, "what was said, as Markdown"
    assert told.count("I do not know. I do not know.") >= 2, "the draft before, and as it was shown to the helper"
    assert "small goes on from it" in told
    assert told.endswith("The number is seven."), "what it changed"
    assert '<a href="#turn-1">turn 1, small</a>' in report, "when"


async def test_the_timeline_marks_what_helping_took(report: str) -> None:
    for title in ("Tokens per turn", "Seconds per turn", "Cost per turn"):
        start = report.index(f"<strong>{title}</strong>")
        figure = report[start : report.index("</figure>", start)]
        assert "pale, with a border: models that were called in" in figure
        assert 'class="c0 other"></rect>' in figure


async def test_a_call_is_one_open_card_with_its_result(tmp_path: Path) -> None:
    sums = ToolCall("calculator", {"expression": "12*7"}, "1"), ToolCall("convert", {"of": 3, "to": "cm"}, "2")
    found = ToolResult(sums[0], (Text('{"expression": "12*7", "result": 84}'),))
    failed = ToolResult(sums[1], (Text('{"error": "no unit"}'),), is_error=True)
    steps = (Message("assistant", sums, "ann"), Message("tool", (found, failed), "ann"))
    turn = TurnFinished(1, 1, "ann", assistant("84.", "ann"), ANN, "gpt-4o", 1.0, steps=steps)
    await write_run(tmp_path, EVENTS[0], TurnStarted(1, 1, "ann"), turn)

    page = "".join(export(tmp_path, "html"))
    assert '<details class="tool" open><summary>calculator(12*7) -&gt; 84</summary>' in page
    assert '<details class="tool failed" open><summary>convert(of=3, to=cm) -&gt; failed: no unit</summary>' in page
    assert page.count("<details") == 2
    assert "<summary>calculator(12*7) -> 84</summary>" in "".join(export(tmp_path, "md"))
