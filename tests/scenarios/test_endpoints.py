"""The sections `providers`, `prices` and `context_windows` at work: other addresses, transports, costs and sizes."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ai_battle import ConversationManager, ModelRequest, create_client
from ai_battle.cli import run_command
from ai_battle.conversation.reading import read
from ai_battle.core.events import EventLog, Summarised, TurnFinished, Warned
from ai_battle.core.messages import user
from ai_battle.testing import FakeProviders, fault, reply
from tests.pixels import png

from .bodies import TYPES, received_requests

PNG = png()


def talk(type_: str, **sections: Any) -> dict[str, Any]:
    models = {
        "Ann": {"type": type_, "persona": "A mason.", "parameters": {"max_tokens": 100, "stop": ["END"]}},
        "Bob": {"type": type_},
    }
    return {"discussion": {"turns": 2, "mode": "ai-ai", "goal": "Talk.", "models": models}, **sections}


@pytest.mark.parametrize("wire", ["openai", "anthropic", "ollama"])
async def test_the_official_client_sends_the_very_same_bodies(fakes: FakeProviders, here: Path, wire: str) -> None:
    (here / "sketch.png").write_bytes(PNG)
    fake = getattr(fakes, wire)
    for transport in ("aiohttp", "sdk"):
        source = talk(TYPES[wire], providers={wire: {"transport": transport}})
        source["discussion"]["input_file"] = "sketch.png"
        fake.says("One.", "Two.", fault("http_503"), "Three.", "Four.")
        result = await ConversationManager.from_config(source).run_discussion()
        assert [message.text for message in result.messages[1:]] == ["One.", "Two.", "Three.", "Four."]

    bodies = [request.body for request in fake.questions]
    assert len(bodies) == 10
    assert bodies[:5] == bodies[5:]


async def test_any_server_with_the_api_of_openai_has_a_name_of_its_own(fakes: FakeProviders, here: Path) -> None:
    section = {"base_url": f"{fakes.openai.url}/v1", "api_key": "mine", "headers": {"X-Team": "seven"}}

    result = await ConversationManager.from_config(
        talk("workshop/tiny-7b", providers={"workshop": section})
    ).run_discussion()

    assert result.status == "done"
    (question, *_) = fakes.openai.questions
    assert question.body["model"] == "tiny-7b"
    assert (question.headers["authorization"], question.headers["x-team"]) == ("Bearer mine", "seven")


LEFT_INSIDE = {
    "<think>\nHm, hm.\n</think>\n\nYes.": ("Hm, hm.", "Yes."),
    "<think>\n\n</think>\n\nYes.": ("", "Yes."),
    "<think>One.</think><think>Two.</think> Yes.": ("One.Two.", "Yes."),
    "[THINK]Is it <b>?[/THINK]It is </think>.": ("Is it <b>?", "It is </think>."),
    "The tag <think>this</think> is a model's.": ("", "The tag <think>this</think> is a model's."),
    "<reasoning>2+2</reasoning><answer>4</answer>": ("", "<reasoning>2+2</reasoning><answer>4</answer>"),
    "  <three\n[1]": ("", "  <three\n[1]"),
    "<think>It never ends, and yet it is four.": ("", "<think>It never ends, and yet it is four."),
}
"""What servers without a parser for reasoning send as content: the reasoning in it, and the answer."""


@pytest.mark.parametrize(("wire", "type_", "path"), [("openai", "workshop/tiny", "/v1"), ("ollama", "ollama/phi4", "")])
@pytest.mark.parametrize("content", LEFT_INSIDE)
async def test_reasoning_at_the_beginning_of_an_answer_is_no_part_of_it(
    fakes: FakeProviders, wire: str, type_: str, path: str, content: str
) -> None:
    fake = getattr(fakes, wire)
    client = create_client(type_, base_url=fake.url + path)
    for chunks in (1, 3, len(content)):
        fake.says(reply(content, chunks=chunks))
        response = await client.complete(ModelRequest((user("Is it four?"),)), heard := EventLog())

        assert (response.message.thinking.strip(), response.text) == LEFT_INSIDE[content]
        assert heard.text == response.text
    await client.aclose()


async def test_what_a_model_thinks_ends_no_discussion_and_reaches_nobody(fakes: FakeProviders, here: Path) -> None:
    fakes.openai.says("<think>Shall I APPROVE? No.</think>\n\nToo long.", "Shorter.", "APPROVE")
    source = talk("workshop/tiny", providers={"workshop": {"base_url": f"{fakes.openai.url}/v1"}})
    source["discussion"]["stop"] = {"phrase": "APPROVE"}

    result = await ConversationManager.from_config(source).run_discussion()

    assert [message.text for message in result.messages[1:]] == ["Too long.", "Shorter.", "APPROVE"]
    assert not any("Shall I" in str(question.body) for question in fakes.openai.questions)


def run_source(source: dict[str, Any], *options: str) -> int:
    """Runs it on the command line, among fake providers; the exit code."""
    Path("talk.json").write_text(json.dumps(source))
    return run_command(["run", "talk.json", "--out", "here", *options])


@pytest.fixture
def running(here: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeProviders]:
    """Fake providers for a program that has an event loop of its own."""
    with FakeProviders.in_thread() as fakes:
        for name, value in fakes.environment.items():
            monkeypatch.setenv(name, value)
        yield fakes


@pytest.mark.parametrize(
    ("type_", "prices", "cost"),
    [
        ("gpt-4o", {}, r"\$0\.00\d+"),
        ("ollama-phi4", {}, r"\$0"),
        ("openai/nobody-knows-it", {}, "cost unknown"),
        ("openai/nobody-knows-it", {"nobody-knows-it": {"input": 1000, "output": 1000}}, r"\$0\.\d+"),
    ],
)
def test_a_cost_is_known_or_nothing_or_unknown_and_never_a_wrong_zero(
    running: FakeProviders, capsys: pytest.CaptureFixture[str], type_: str, prices: dict[str, Any], cost: str
) -> None:
    assert run_source(talk(type_, prices=prices)) == 0
    assert re.search(
        rf"^Done \(turns\) after 4 turns: \d+ in, \d+ out, {cost}\.$", capsys.readouterr().out, re.MULTILINE
    )


def test_a_price_of_the_file_is_what_a_limit_counts(running: FakeProviders, capsys: pytest.CaptureFixture[str]) -> None:
    source = talk("openai/nobody-knows-it", prices={"openai/nobody-knows-it": {"input": 1000, "output": 1000}})
    source["discussion"]["turns"] = 50

    assert run_source(source, "--max-cost", "10") == 1

    assert "Stopped by a limit (cost_usd: " in capsys.readouterr().out
    spent = [event.usage.cost_usd or 0 for _, event in read(Path("here")) if isinstance(event, TurnFinished)]
    assert 7 <= sum(spent) <= 10


async def test_a_limit_in_dollars_says_when_it_can_not_hold(fakes: FakeProviders) -> None:
    source = talk("openai/nobody-knows-it")
    source["discussion"]["limits"] = {"cost_usd": 1, "unpriced": "allow"}

    await ConversationManager.from_config(source).run_discussion(log := EventLog())

    told = [event.message for event in log.events if isinstance(event, Warned)]
    assert told == ["The price of nobody-knows-it is unknown; limits.cost_usd can't hold for what it uses."]


async def test_a_window_of_the_file_is_what_old_turns_are_summed_up_for(fakes: FakeProviders) -> None:
    fakes.openai.always("Let us talk about the arches first. " * 20)
    source = talk("gpt-4o", context_windows={"gpt-4o": 2_000})
    source["discussion"]["turns"] = 10

    result = await ConversationManager.from_config(source).run_discussion(log := EventLog())

    assert (result.status, result.turns) == ("done", 20)
    assert [event for event in log.events if isinstance(event, Summarised)]
    longest = max(sum(len(m.text) for m in request.messages) for request in received_requests(fakes, "openai"))
    assert longest < 2_000 * 5
