"""What is made of a discussion at its end: asked for in the words of each API, and kept as a file."""

import json
from typing import Any

import pytest

from ai_battle import ConversationManager, RunResult
from ai_battle.core.events import EventLog, Warned
from ai_battle.testing import FakeProviders, fault

from .bodies import TYPES, WIRES, received_requests

every_wire = pytest.mark.parametrize("wire", WIRES)
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
    "additionalProperties": False,
}
PLACES = {
    "openai": ("response_format", "json_schema", "schema"),
    "anthropic": ("output_config", "format", "schema"),
    "ollama": ("format",),
    "gemini": ("generationConfig", "responseJsonSchema"),
}


async def play(wire: str, outcome: Any) -> tuple[RunResult, list[str]]:
    """The run, and what its user was told."""
    models = {name: {"type": TYPES[wire], "persona": f"I am {name}."} for name in ("Ann", "Bob")}
    discussion = {"turns": 1, "mode": "ai-ai", "goal": "Name it.", "models": models, "outcome": outcome}
    result = await ConversationManager.from_config({"discussion": discussion}).run_discussion(log := EventLog())
    return result, [event.message for event in log.events if isinstance(event, Warned)]


def file_text(result: RunResult, name: str) -> str:
    return (result.run_dir / name).read_text(encoding="utf-8")


@every_wire
async def test_a_text_is_asked_for_when_all_is_said_and_kept_beside_the_journal(
    fakes: FakeProviders, wire: str
) -> None:
    getattr(fakes, wire).says("Long Bridge?", "Old Bridge.", "It is called Old Bridge.")

    result, _ = await play(wire, "One sentence for the sign at the bridge.")

    assert (result.status, result.turns) == ("done", 2)
    assert file_text(result, "outcome.md") == "It is called Old Bridge.\n"
    *before, last = received_requests(fakes, wire)
    assert len(before) == 2
    assert "One sentence for the sign at the bridge." in last.messages[-1].text
    assert "Old Bridge." in "".join(message.text for message in last.messages)
    assert not any("for the sign" in str(request.body) for request in before)


@every_wire
async def test_json_is_asked_for_by_its_schema_and_found_in_an_untidy_answer(fakes: FakeProviders, wire: str) -> None:
    getattr(fakes, wire).says("Long Bridge?", "Old Bridge.", 'Sure!\n```json\n{"name": "Old Bridge"}\n```')

    result, _ = await play(wire, SCHEMA)

    assert json.loads(file_text(result, "outcome.json")) == {"name": "Old Bridge"}
    asked: Any = received_requests(fakes, wire)[-1].body
    for step in PLACES[wire]:
        asked = asked[step]
    assert asked == SCHEMA


async def test_an_outcome_that_does_not_come_is_told_and_the_run_is_done_all_the_same(fakes: FakeProviders) -> None:
    fakes.openai.says("Long Bridge?", "Old Bridge.", fault("http_400"))

    result, told = await play("openai", "One sentence.")

    assert (result.status, result.turns) == ("done", 2)
    assert any("There is no outcome" in message for message in told)
    assert not [path for path in result.run_dir.iterdir() if path.stem == "outcome"]
