"""What discussions and benchmarks tell OpenTelemetry: agents, models, tools and helpers as children of their run."""

from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from ai_battle import ConversationManager
from ai_battle.core.exchange import Usage
from ai_battle.testing import FakeProviders, call, reply
from tests.benchmark.suites import ALWAYS_4, play_suite, suite
from tests.spans import ASKED, attributes, parent_of, spans

from .terminal import begin, wait_for

__all__ = ["spans"]
TALK: dict[str, Any] = {
    "discussion": {
        "goal": "My secret-word.",
        "turns": 1,
        "models": {"Ann": {"type": "openai/gpt-4o"}, "Bob": {"type": "ollama/phi4"}},
        "tools": ["calculator"],
    }
}


@pytest.fixture
def telemetry(here: Path, fakes: FakeProviders, monkeypatch: pytest.MonkeyPatch) -> FakeProviders:
    for name, value in {**fakes.environment, **ASKED}.items():
        monkeypatch.setenv(name, value)
    return fakes


async def test_a_run_has_a_span_for_each_turn_and_below_it_for_each_call_of_a_model_or_a_tool(
    telemetry: FakeProviders, spans: InMemorySpanExporter
) -> None:
    telemetry.openai.says(call("calculator", expression="2+2"), reply("It is 4.", usage=Usage(12, 3)))
    telemetry.ollama.says("Right, secret-word.")

    run = await ConversationManager.from_config(TALK, out="run").run_discussion()

    told = [(span.name, parent_of(span, spans)) for span in spans.get_finished_spans()]
    assert told == [
        ("chat gpt-4o", "invoke_agent Ann"),
        ("execute_tool calculator", "invoke_agent Ann"),
        ("chat gpt-4o", "invoke_agent Ann"),
        ("invoke_agent Ann", "invoke_workflow discussion"),
        ("chat phi4", "invoke_agent Bob"),
        ("invoke_agent Bob", "invoke_workflow discussion"),
        ("invoke_workflow discussion", ""),
    ]
    *_, answered, agent, _, _, whole = spans.get_finished_spans()
    assert attributes(whole)["gen_ai.conversation.id"] == run.run_dir.name
    assert attributes(agent)["gen_ai.agent.name"] == "Ann"
    assert attributes(answered)["gen_ai.usage.input_tokens"] == 12
    assert "secret-word" not in "".join(span.to_json() for span in spans.get_finished_spans())


async def test_a_helper_stands_below_the_agent_that_it_helps(
    telemetry: FakeProviders, spans: InMemorySpanExporter
) -> None:
    telemetry.ollama.always("I don't know.")
    telemetry.openai.always("It is 4, as 2 and 2 are 4.")
    said = {
        **TALK["discussion"],
        "goal": "What is 2 + 2?",
        "models": {"Bob": {"type": "ollama/phi4"}, "Cid": {"type": "scripted", "script": ["?"]}},
    }
    said["collaboration"] = {"pairs": [{"primary": "Bob", "secondary": "openai/gpt-4o"}]}

    await ConversationManager.from_config({"discussion": said}, out="run").run_discussion()

    told = [(span.name, parent_of(span, spans)) for span in spans.get_finished_spans()]
    assert ("chat gpt-4o", "invoke_agent helper") in told
    assert ("invoke_agent helper", "invoke_agent Bob") in told


async def test_without_a_collector_there_are_no_spans(
    telemetry: FakeProviders, spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_ENDPOINT")
    await ConversationManager.from_config(TALK, out="run").run_discussion()

    assert not spans.get_finished_spans()


def test_a_run_ends_soon_and_says_once_that_the_collector_is_away(telemetry: FakeProviders, here: Path) -> None:
    (here / "talk.yaml").write_text(str({"discussion": {**TALK["discussion"], "models": {
        "Ann": {"type": "scripted", "script": ["one"]}, "Bob": {"type": "scripted", "script": ["two"]}}}}))  # fmt: skip
    running = begin("run", "talk.yaml", "--out", "r", "--json")
    wait_for("run_finished", here / "r" / "journal.jsonl")
    ended = running.end()

    assert ended.code == 0
    assert ended.out.startswith("{")
    assert ended.err.count("Telemetry is lost") == 1
    assert "OTEL_EXPORTER_OTLP_ENDPOINT names does not accept it (Connection refused)." in ended.err
    assert "Traceback" not in ended.err
    assert ended.seconds < 30


def test_each_sample_of_a_benchmark_is_a_span(
    here: Path, spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in ASKED.items():
        monkeypatch.setenv(name, value)
    play_suite(here, suite(here, {"name": "four", "model": ALWAYS_4}))

    told = [(span.name, parent_of(span, spans)) for span in spans.get_finished_spans()]
    assert told == [("chat always-4", "invoke_agent four"), ("invoke_agent four", "")] * 4
    assert {attributes(span).get("ai_battle.task") for span in spans.get_finished_spans()} == {
        None, "s1", "s2", "s3", "s4",
    }  # fmt: skip
