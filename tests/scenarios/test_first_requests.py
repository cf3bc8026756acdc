"""What each API is sent: read from the bodies that arrived, for all four of them."""

import base64
import json
from collections.abc import Callable
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any

import pytest

from ai_battle import ConversationManager, RunResult
from ai_battle.core.errors import ConfigError
from ai_battle.core.events import EventLog, Warned
from ai_battle.testing import FakeProviders, fault
from tests.pixels import png

from .bodies import TYPES, WIRES, Received, received_requests

PNG = png()
PERSONA = 'A retired judge.\n  {"temper": "calm"}  # costs $5, "as is": {x}\n\nNever in a hurry.'
GOAL = "What does the sketch show?"
every_wire = pytest.mark.parametrize("wire", WIRES)


def two(wire: str, ann: dict[str, Any] | None = None, **discussion: Any) -> dict[str, Any]:
    """Two participants on one wire."""
    models = {"Ann": {"type": TYPES[wire], "role": "human", **(ann or {})}, "Bob": {"type": TYPES[wire]}}
    return {"discussion": {"turns": 3, "goal": GOAL, "models": models, **discussion}}


async def play(source: Any, fakes: FakeProviders, wire: str) -> tuple[RunResult, list[Received], list[str]]:
    """The run, what arrived, and what its user was told. Answers can be told apart."""
    getattr(fakes, wire).says(*(f"Answer {number}." for number in range(1, 13)))
    result = await ConversationManager.from_config(source).run_discussion(log := EventLog())
    return result, received_requests(fakes, wire), [event.message for event in log.events if isinstance(event, Warned)]


class TestFirst:
    @pytest.fixture
    def write_full_config(self, here: Path) -> Callable[[str], Path]:
        """A YAML with all that participants can be given, in a folder of its own."""

        def write(wire: str) -> Path:
            folder = here / "case"
            folder.mkdir()
            (folder / "sketch.png").write_bytes(PNG)
            (folder / "notes.txt").write_text("The bridge was closed in May.\n")
            (folder / "case.yaml").write_text(f"""
discussion:
  turns: 3
  goal: {GOAL}
  models:
    Ann:
      type: {TYPES[wire]}
      role: human
      capabilities: {{images: true}}
      persona: {json.dumps(PERSONA)}
      instructions: Ask one question at a time.
    Bob:
      type: {TYPES[wire]}
      capabilities: {{images: true}}
      persona: An engineer who builds bridges.
      instructions: {{template: ai_system_instructions, params: {{domain: structural engineering}}}}
  input_files:
    files: [{{path: ./sketch.png, type: image}}, {{path: notes.txt, type: text}}]
established_facts: {{river: Meuse, width: {{metres: 142}}}}
""")
            return folder / "case.yaml"

        return write

    @every_wire
    async def test_all_that_a_participant_is_given_is_in_its_first_request(
        self, fakes: FakeProviders, write_full_config: Callable[[str], Path], wire: str
    ) -> None:
        _, (ann, bob, *_), _ = await play(write_full_config(wire), fakes, wire)

        assert PERSONA in ann.system
        assert "Ask one question at a time." in ann.system
        assert "An engineer who builds bridges." not in ann.system
        assert "An engineer who builds bridges." in bob.system
        assert "You are an expert in structural engineering." in bob.system
        for first in (ann, bob):
            assert "river: Meuse" in first.system
            assert '"metres": 142' in first.system
            opening = first.messages[0]
            assert opening.role == "user"
            assert opening.pictures == (base64.b64encode(PNG).decode(),)
            assert "The bridge was closed in May." in opening.text
            assert GOAL in opening.text

    @every_wire
    async def test_later_requests_bring_each_thing_once(
        self, fakes: FakeProviders, write_full_config: Callable[[str], Path], wire: str
    ) -> None:
        _, requests, _ = await play(write_full_config(wire), fakes, wire)

        for request in requests:
            said = "".join(message.text for message in request.messages)
            assert [len(message.pictures) for message in request.messages] == [1] + [0] * (len(request.messages) - 1)
            assert said.count("The bridge was closed in May.") == 1
            assert said.count(GOAL) == 1
            assert "Meuse" not in said
            assert "judge" not in said
        for own in (requests[0::2], requests[1::2]):
            assert len({request.system for request in own}) == 1, "a stable beginning, which providers can cache"
            for earlier, later in pairwise(own):
                assert later.messages[: len(earlier.messages)] == earlier.messages


class TestNoMeta:
    @every_wire
    async def test_nothing_is_sent_but_the_neutral_prompt_and_what_was_said(
        self, fakes: FakeProviders, wire: str
    ) -> None:
        told = {"persona": PERSONA, "instructions": "Be brief."}
        _, requests, _ = await play(two(wire, told, mode="no-meta", established_facts={"river": "Meuse"}), fakes, wire)

        plain = [[(m.role, m.text, m.name) for m in request.messages] for request in requests]
        assert plain[0] == [("user", GOAL, "")]
        assert plain[1] == [("user", f"{GOAL}\n\nAnswer 1.", "")]
        assert plain[2] == [("user", GOAL, ""), ("assistant", "Answer 1.", ""), ("user", "Answer 2.", "")]
        for request in requests:
            assert request.system == ""
            assert "system" not in request.body
            assert "systemInstruction" not in request.body
            assert not any(word in json.dumps(request.body) for word in ("judge", "brief", "Meuse", "Ann", "Bob"))

    @every_wire
    async def test_no_field_but_those_that_the_api_demands_is_sent(self, fakes: FakeProviders, wire: str) -> None:
        _, (first, *_), _ = await play(two(wire, mode="no-meta"), fakes, wire)

        assert (
            set(first.body)
            == {
                "openai": {"model", "messages", "stream", "stream_options"},
                "anthropic": {"model", "messages", "stream", "max_tokens"},
                "ollama": {"model", "messages", "stream", "options"},
                "gemini": {"contents"},
            }[wire]
        )

    async def test_default_is_another_name_of_it(self, fakes: FakeProviders) -> None:
        _, requests, _ = await play(two("openai", mode="default"), fakes, "openai")
        assert {request.system for request in requests} == {""}


class TestVoices:
    @every_wire
    async def test_two_take_turns_as_user_and_assistant(self, fakes: FakeProviders, wire: str) -> None:
        _, requests, _ = await play(two(wire), fakes, wire)

        assert len(requests) == 6
        for request in requests:
            roles = [message.role for message in request.messages]
            assert roles == [role for role, _ in zip(cycle(("user", "assistant")), roles, strict=False)]
            assert roles[-1] == "user"
        assert [message.text for message in requests[4].messages] == [
            GOAL,
            "Answer 1.",
            "Answer 2.",
            "Answer 3.",
            "Answer 4.",
        ]

    @every_wire
    async def test_three_keep_their_names(self, fakes: FakeProviders, wire: str) -> None:
        models = {name: {"type": TYPES[wire]} for name in ("Ann", "Bob", "Cy")}
        _, requests, _ = await play(two(wire, models=models, mode="ai-ai", turns=2), fakes, wire)

        assert [(m.role, m.text) for m in requests[3].messages] == [
            ("user", GOAL),
            ("assistant", "Answer 1."),
            ("user", "Bob: Answer 2.\n\nCy: Answer 3."),
        ]
        assert all("Ann, Bob, Cy" in request.system for request in requests)

    async def test_four_voices_on_four_apis_hear_each_other(self, fakes: FakeProviders) -> None:
        for wire in WIRES:
            getattr(fakes, wire).says(f"{wire} speaks.", f"{wire} again.")
        models = {wire.title(): {"type": TYPES[wire]} for wire in WIRES}
        source = {"discussion": {"turns": 2, "goal": GOAL, "mode": "ai-ai", "models": models}}

        result = await ConversationManager.from_config(source).run_discussion()

        assert (result.status, result.turns) == ("done", 8)
        second = received_requests(fakes, "gemini")[1]
        assert (
            second.messages[-1].text == "Openai: openai again.\n\nAnthropic: anthropic again.\n\nOllama: ollama again."
        )


class TestParameters:
    @pytest.mark.parametrize(
        ("wire", "fields"),
        [
            ("openai", {"temperature": 0.8, "max_tokens": 300, "top_p": 0.9, "seed": 7, "stop": ["END"]}),
            ("anthropic", {"max_tokens": 300, "stop_sequences": ["END"]}),
            ("ollama", {"temperature": 0.8, "num_predict": 300, "top_p": 0.9, "seed": 7, "stop": ["END"]}),
            (
                "gemini",
                {"temperature": 0.8, "maxOutputTokens": 300, "topP": 0.9, "seed": 7, "stopSequences": ["END"]},
            ),
        ],
    )
    async def test_parameters_reach_each_api_under_its_names(
        self, fakes: FakeProviders, wire: str, fields: dict[str, Any]
    ) -> None:
        parameters = {"temperature": 0.8, "max_tokens": 300, "top_p": 0.9, "seed": 7, "stop": ["END"]}
        _, (ann, bob, *_), _ = await play(two(wire, {"parameters": parameters}), fakes, wire)

        assert {name: ann.options.get(name) for name in fields} == fields
        assert not ({*fields} & {*bob.options}) - {"max_tokens"}, "only of the one who has them"

    @pytest.mark.parametrize(
        ("type_", "wire", "field"),
        [
            ("gpt-5.1-reasoning-high", "openai", {"reasoning_effort": "high"}),
            ("claude-sonnet-4-5-reasoning-low", "anthropic", {"thinking": {"type": "enabled", "budget_tokens": 2048}}),
            ("ollama/gemma3:1b-reasoning-none", "ollama", {"think": False}),
        ],
    )
    async def test_reasoning_in_a_name_reaches_the_api(
        self, fakes: FakeProviders, type_: str, wire: str, field: dict[str, Any]
    ) -> None:
        _, (ann, *_), _ = await play(two(wire, {"type": type_}), fakes, wire)
        assert {name: ann.body.get(name) for name in field} == field

    @pytest.mark.parametrize(
        ("wire", "option", "field"),
        [
            ("openai", "temperature", "temperature"),
            ("anthropic", "reasoning", "thinking"),
            ("ollama", "reasoning", "think"),
            ("gemini", "temperature", "generationConfig"),
        ],
    )
    async def test_a_refused_parameter_is_left_out_with_one_warning_and_the_run_goes_on(
        self, fakes: FakeProviders, wire: str, option: str, field: str
    ) -> None:
        getattr(fakes, wire).says(fault("parameter_refused"))
        value = "low" if option == "reasoning" else 0.8

        result, (refused, *later), told = await play(two(wire, {"parameters": {option: value}}), fakes, wire)

        assert (result.status, result.turns, len(later)) == ("done", 6, 6)
        assert field in refused.body
        assert not any(field in request.body for request in later)
        (warning,) = told
        assert warning.startswith(f"'{option}' is left out: ")
        assert "Answer 1." in [message.text for message in result.messages], "it costs no turn"

    async def test_a_parameter_that_the_api_does_not_have_is_told_once(self, fakes: FakeProviders) -> None:
        result, requests, told = await play(two("anthropic", {"parameters": {"temperature": 0.8}}), fakes, "anthropic")

        assert result.turns == 6
        assert told == ["'temperature' is left out: claude-sonnet-4-5 does not take it."]
        assert not any("temperature" in request.body for request in requests)

    async def test_ollama_gets_a_context_for_the_real_size(self, fakes: FakeProviders, here: Path) -> None:
        (here / "long.txt").write_text("All work and no play makes a dull text. " * 1_000)
        fakes.ollama.models["gemma3:1b"] = fakes.ollama.models["phi4:latest"]

        await play(two("ollama"), fakes, "ollama")
        short = received_requests(fakes, "ollama")
        await play(two("ollama", input_file="long.txt"), fakes, "ollama")
        long = received_requests(fakes, "ollama")[len(short) :]

        assert {request.options["num_ctx"] for request in short} == {4_096}
        assert {request.options["num_ctx"] for request in long} == {16_384}

    async def test_a_context_that_is_asked_for_is_what_ollama_gets(self, fakes: FakeProviders) -> None:
        _, (ann, *_), _ = await play(two("ollama", {"parameters": {"num_ctx": 12_345}}), fakes, "ollama")
        assert ann.options["num_ctx"] == 12_345


class TestLocalOnly:
    @pytest.mark.parametrize("wire", ["openai", "anthropic", "gemini", "ollama"])
    async def test_it_is_by_address_so_what_listens_on_this_machine_may_take_part(
        self, fakes: FakeProviders, wire: str
    ) -> None:
        result, *_ = await play(two(wire, local_only=True), fakes, wire)
        assert result.status == "done"

    @pytest.mark.parametrize("wire", ["openai", "anthropic", "gemini"])
    async def test_it_refuses_what_is_elsewhere_before_anything_is_sent_or_made(
        self, fakes: FakeProviders, here: Path, monkeypatch: pytest.MonkeyPatch, wire: str
    ) -> None:
        for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"):
            monkeypatch.delenv(name)

        with pytest.raises(ConfigError, match=r"(?s)models\.Ann\.type.*is not on this machine.*local_only: true"):
            ConversationManager.from_config(two(wire, local_only=True))

        assert not (here / "runs").exists()

    async def test_an_ollama_on_another_machine_is_elsewhere_too(
        self, here: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OLLAMA_HOST", "http://192.0.2.7:11434")

        with pytest.raises(ConfigError, match="is not on this machine"):
            ConversationManager.from_config(two("ollama", local_only=True))

    @pytest.mark.parametrize("type_", ["ollama/gpt-oss:120b-cloud", "ollama-glm-4.6:cloud"])
    async def test_what_a_local_ollama_only_passes_on_is_elsewhere(self, fakes: FakeProviders, type_: str) -> None:
        with pytest.raises(ConfigError, match="is not on this machine"):
            ConversationManager.from_config(two("ollama", {"type": type_}, local_only=True))
