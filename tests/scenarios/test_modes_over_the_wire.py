"""Whole discussions over HTTP: modes, ways to choose a speaker, ways to end, and faults that cost nothing."""

import asyncio
from collections.abc import Mapping
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from ai_battle import ConversationManager, RunResult
from ai_battle.core.events import (
    AttemptFailed,
    BudgetReached,
    Event,
    EventLog,
    SpeakerSelected,
    Summarised,
    TextDelta,
    TurnFailed,
    TurnFinished,
    Warned,
)
from ai_battle.core.exchange import Usage
from ai_battle.testing import FakeProviders, fault, reply

from .bodies import TYPES, WIRES, received_requests

GOAL = "Find a name for the bridge."
every_wire = pytest.mark.parametrize("wire", WIRES)
GEMMA = "ollama-gemma3-1b"


def talk(models: Mapping[str, Any], **discussion: Any) -> dict[str, Any]:
    return {"discussion": {"turns": 2, "goal": GOAL, "models": dict(models), **discussion}}


def all_of(type_: str, *names: str, **roles: str) -> dict[str, Any]:
    """Participants of one model; `roles` are those who are more than voices."""
    return {
        **{name: {"type": type_} for name in names},
        **{name: {"type": type_, "role": role} for name, role in roles.items()},
    }


async def play(source: Any) -> tuple[RunResult, EventLog]:
    result = await ConversationManager.from_config(source).run_discussion(log := EventLog())
    return result, log


def transcript(result: RunResult) -> list[tuple[str, str]]:
    return [(message.speaker, message.text) for message in result.messages]


def speakers(result: RunResult) -> list[str]:
    return [message.speaker for message in result.messages[1:]]


def of(kind: type[Event], log: EventLog) -> list[Any]:
    return [event for event in log.events if isinstance(event, kind)]


class TestModes:
    async def test_human_ai_tells_each_side_its_part(self, fakes: FakeProviders) -> None:
        await play(talk({"Ann": {"type": "gpt-4o", "role": "human"}, "Bob": {"type": GEMMA}}, mode="human-ai"))

        assert "You are Ann, the human" in received_requests(fakes, "openai")[0].system
        assert "You are Bob, answering a person" in received_requests(fakes, "ollama")[0].system

    async def test_ai_ai_makes_them_equals(self, fakes: FakeProviders) -> None:
        await play(talk(all_of(GEMMA, "Ann", "Bob"), mode="ai-ai"))

        ann, bob, *_ = received_requests(fakes, "ollama")
        assert ann.system.replace("Ann", "Bob") == bob.system
        assert "human" not in ann.system

    async def test_a_panel_is_opened_led_and_closed_by_its_moderator(self, fakes: FakeProviders) -> None:
        fakes.openai.says("Welcome.", "Let us hear Cy first.", '{"next": "Bob"}', "Anne", "Thank you all.")
        models = {"Mo": {"type": "gpt-4o", "role": "moderator"}, **all_of(GEMMA, "Ann", "Bob", "Cy")}

        result, log = await play(talk(models, turns=1, mode="ai-ai", speaker_selection="moderator"))

        assert speakers(result) == ["Mo", "Cy", "Bob", "Ann", "Mo"]
        assert result.messages[-1].text == "Thank you all."
        opening, choice, *_ = received_requests(fakes, "openai")
        assert "Open the conversation" in opening.messages[-1].text
        assert choice.body["response_format"]["json_schema"]["schema"]["properties"]["next"]["enum"]
        assert "Welcome." in choice.messages[-1].text
        found = [(event.speaker, event.how) for event in of(SpeakerSelected, log)]
        assert found == [("Cy", "normalised"), ("Bob", "chosen"), ("Ann", "near match")]

    async def test_an_untidy_model_of_1b_finds_the_next_speaker_all_the_same(self, fakes: FakeProviders) -> None:
        untidy = cycle(
            [
                "**Bob** should speak next, because Ann has already said much.",
                "Sure! Here is my answer:\n\nThe next speaker is: Bobb",
                '```json\n{"next_speaker": "Cy"}\n```',
                "Hmm, I cannot say.",
            ]
        )

        def answer(body: Mapping[str, Any]) -> str:
            return next(untidy) if body.get("format") else "Stone Bridge."

        fakes.ollama.always(answer)

        result, log = await play(
            talk(all_of(GEMMA, "Ann", "Bob", "Cy"), turns=2, mode="ai-ai", speaker_selection="auto")
        )

        selected = of(SpeakerSelected, log)
        assert speakers(result)[0] == "Ann"
        assert speakers(result)[1:] == [event.speaker for event in selected]
        assert {event.how for event in selected} <= {"chosen", "normalised", "near match", "fallback"}
        assert "fallback" in {event.how for event in selected}
        assert all(event.raw for event in selected)
        assert all(first != second for first, second in zip(speakers(result), speakers(result)[1:], strict=False))

    @pytest.mark.parametrize(
        ("wire", "place"),
        [
            ("openai", ["response_format", "json_schema", "schema"]),
            ("anthropic", ["output_config", "format", "schema"]),
            ("ollama", ["format"]),
            ("gemini", ["generationConfig", "responseJsonSchema"]),
        ],
    )
    async def test_the_choice_of_a_speaker_is_bound_to_the_names_where_the_api_can(
        self, fakes: FakeProviders, wire: str, place: list[str]
    ) -> None:
        fake = getattr(fakes, wire)
        fake.says("I begin.", '{"next": "Cy"}', "Now I.", '{"next": "Ann"}', "And I again.")

        result, _ = await play(
            talk(all_of(TYPES[wire], "Ann", "Bob", "Cy"), turns=1, mode="ai-ai", speaker_selection="auto")
        )

        assert speakers(result) == ["Ann", "Cy", "Ann"]
        for request, names in zip(received_requests(fakes, wire)[1::2], (["Bob", "Cy"], ["Ann", "Bob"]), strict=True):
            schema: Any = request.body
            for step in place:
                schema = schema[step]
            assert schema["properties"]["next"]["enum"] == names

    async def test_in_parallel_all_answer_the_same_history_at_once(self, fakes: FakeProviders) -> None:
        for wire in WIRES:
            getattr(fakes, wire).always(reply(f"From {wire}.", delay=0.5))
        models = {wire: {"type": TYPES[wire]} for wire in WIRES}

        result, _ = await play(talk(models, turns=2, mode="ai-ai", execution={"parallel": True}))

        for number in range(2):
            came = [getattr(fakes, wire).questions[number].time for wire in WIRES]
            assert max(came) - min(came) < 3 * 0.5, "one after the other they would wait for three answers"
        assert speakers(result) == [*WIRES] * 2
        for wire in WIRES:
            first, second = received_requests(fakes, wire)
            assert [message.text for message in first.messages] == [GOAL]
            told = "".join(message.text for message in second.messages if message.role == "user")
            assert [told.count(f"{other}: From {other}.") for other in WIRES] == [other != wire for other in WIRES]

    async def test_an_observer_hears_all_and_speaks_once_at_the_end(self, fakes: FakeProviders) -> None:
        fakes.anthropic.says("They never agreed.")
        models = {**all_of(GEMMA, "Ann", "Bob"), "Eve": {"type": "anthropic/claude-sonnet-4-5", "role": "observer"}}

        result, _ = await play(talk(models, mode="ai-ai"))

        assert speakers(result) == ["Ann", "Bob", "Ann", "Bob", "Eve"]
        (request,) = received_requests(fakes, "anthropic")
        assert all(message.text in request.messages[0].text for message in result.messages[1:-1])
        assert all("They never agreed." not in str(r.body) for r in received_requests(fakes, "ollama"))

    async def test_random_order_is_the_same_for_every_run(self, fakes: FakeProviders) -> None:
        source = talk(all_of(GEMMA, "Ann", "Bob", "Cy"), turns=4, mode="ai-ai", speaker_selection="random")
        (first, _), (second, _) = await play(source), await play(source)

        assert speakers(first) == speakers(second)
        assert set(speakers(first)) == {"Ann", "Bob", "Cy"}


class TestEnds:
    @pytest.mark.parametrize(
        ("stop", "turns", "reason"),
        [
            ({"max_messages": 3}, 3, "max_messages: 3"),
            ({"phrase": "it is done"}, 4, "phrase: it is done"),
            ({"any": [{"turns": 9}, {"all": [{"turns": 2}, {"phrase": "IT IS DONE"}]}]}, 4, "phrase"),
            ([{"cost_usd": 0.0005}], 2, "cost_usd: 0.0005"),
            ({"tokens": 150}, 2, "tokens: 150"),
        ],
    )
    async def test_a_condition_ends_it(self, fakes: FakeProviders, stop: Any, turns: int, reason: str) -> None:
        answers = ("We could say Long Bridge.", "Or Old Bridge.", "Old it is.", "Then **it is\ndone**!", "More.")
        fakes.openai.says(*(reply(text, usage=Usage(100, 10)) for text in answers))

        result, _ = await play(talk(all_of("gpt-4o", "Ann", "Bob"), turns=9, stop=stop))

        assert (result.status, result.turns) == ("done", turns)
        assert reason in result.stop_reason

    async def test_consensus_ends_it(self, fakes: FakeProviders) -> None:
        fakes.openai.says(
            "I propose Old Bridge, after the inn beside it.",
            "I would rather have River Bridge, which tells where it is. What about your inn?",
            "You are right, River Bridge is better. I agree with River Bridge.",
            "I agree. River Bridge it is.",
            "Never asked for.",
        )

        result, _ = await play(talk(all_of("gpt-4o", "Ann", "Bob"), turns=9, stop={"consensus": True}))

        assert (result.turns, result.stop_reason) == (4, "consensus")

    @every_wire
    async def test_near_a_limit_the_next_one_wraps_up(self, fakes: FakeProviders, wire: str) -> None:
        source = talk(all_of(TYPES[wire], "Ann", "Bob"), turns=50, limits={"tokens": 5_000})

        result, log = await play(source)

        assert result.status == "limit"
        assert result.stop_reason.startswith("tokens: ")
        (reached,) = of(BudgetReached, log)
        assert not reached.is_full
        assert result.usage.total_tokens <= 5_000
        assert of(TurnFinished, log)[-1].kind == "wrap_up"
        *before, last = received_requests(fakes, wire)
        assert "last contribution" in last.messages[-1].text
        assert all("last contribution" not in str(request.body) for request in before)
        assert result.usage.total_tokens == sum(turn.usage.total_tokens for turn in of(TurnFinished, log))


class TestMemory:
    @every_wire
    async def test_old_turns_become_notes_and_goal_and_persona_stay(self, fakes: FakeProviders, wire: str) -> None:
        def answer(body: Mapping[str, Any]) -> str:
            if "keep the notes" in str(body):
                return "They weigh names; DECISION: the bridge has four arches."
            return "I would rather talk about the arches of it first. " * 8

        getattr(fakes, wire).always(answer)
        models = {"Ann": {"type": TYPES[wire], "persona": "A mason."}, "Bob": {"type": TYPES[wire]}}

        result, log = await play(talk(models, turns=8, execution={"max_conversation_tokens": 900}))

        assert (result.status, result.turns) == ("done", 16)
        summaries = of(Summarised, log)
        assert len(summaries) >= 2
        assert all(summary.text.startswith("They weigh names") for summary in summaries)
        turns = [request for request in received_requests(fakes, wire) if "keep the notes" not in request.system]
        assert len(turns) == 16
        last = turns[-2]
        assert GOAL in last.messages[0].text
        assert "DECISION: the bridge has four arches." in "".join(message.text for message in last.messages)
        assert "A mason." in last.system
        longest = max(sum(len(message.text) for message in request.messages) for request in turns)
        assert longest < 900 * 5, "characters, at about four to a token"

    async def test_a_summary_that_fails_is_told_and_costs_no_turn(self, fakes: FakeProviders) -> None:
        def answer(body: Mapping[str, Any]) -> Any:
            return fault("http_400") if "keep the notes" in str(body) else "Arches, arches, arches. " * 20

        fakes.openai.always(answer)

        result, log = await play(
            talk(all_of("gpt-4o", "Ann", "Bob"), turns=6, execution={"max_conversation_tokens": 900})
        )

        assert (result.status, result.turns) == ("done", 12)
        assert any("could not be summed up and were dropped" in event.message for event in of(Warned, log))

    @every_wire
    async def test_a_request_that_is_too_long_for_the_model_is_made_shorter_once(
        self, fakes: FakeProviders, wire: str
    ) -> None:
        fake = getattr(fakes, wire)
        fake.says("One.", "Two.", "Three.", "Four.", fault("context_length"), "Notes of the first turns.", "Five.")

        result, log = await play(talk(all_of(TYPES[wire], "Ann", "Bob"), turns=3))

        assert (result.status, result.turns) == ("done", 6)
        assert [summary.text for summary in of(Summarised, log)] == ["Notes of the first turns."]
        assert ("Ann", "Five.") in transcript(result)


class TestFaults:
    @every_wire
    @pytest.mark.parametrize("name", ["close_mid_stream", "reset_mid_stream", "end_mid_stream", "http_503"])
    async def test_one_passing_fault_in_the_middle_costs_no_turn_and_nothing_is_said_twice(
        self, fakes: FakeProviders, wire: str, name: str
    ) -> None:
        source = talk(all_of(TYPES[wire], "Ann", "Bob"), turns=2)
        lines = [f"Line {number} of the discussion." for number in range(4)]
        fake = getattr(fakes, wire)
        fake.says(*lines)
        untroubled, _ = await play(source)
        asked = [request.body for request in fake.questions]
        fake.says(*lines[:2], fault(name), *lines[2:])

        result, log = await play(source)

        assert transcript(result) == transcript(untroubled)
        (failed,) = of(AttemptFailed, log)
        assert failed.speaker == "Ann"
        assert turns_of(log) == lines
        again = [request.body for request in fake.questions][len(asked) :]
        assert again == [*asked[:3], asked[2], asked[3]], "the same request, once more"

    @every_wire
    async def test_a_model_that_falls_silent_costs_its_turn_and_not_the_run(
        self, fakes: FakeProviders, wire: str
    ) -> None:
        getattr(fakes, wire).says("One.", "Two.", fault("stall_mid_stream"), "Four.")
        source = talk(all_of(TYPES[wire], "Ann", "Bob"), timeouts={"request": 0.3, "retry_count": 0})

        result, log = await play(source)

        assert result.status == "done"
        assert transcript(result) == [("", GOAL), ("Ann", "One."), ("Bob", "Two."), ("Bob", "Four.")]
        (failed,) = of(TurnFailed, log)
        assert (failed.speaker, failed.turn, failed.policy) == ("Ann", 3, "skip")
        assert "silent for 0.15 s" in failed.error
        assert failed.partial, "what had come is kept, and not in the conversation"

    @every_wire
    async def test_servers_that_do_not_stream_take_part_all_the_same(self, fakes: FakeProviders, wire: str) -> None:
        getattr(fakes, wire).streams = False

        result, log = await play(talk(all_of(TYPES[wire], "Ann", "Bob")))

        assert (result.status, result.turns) == ("done", 4)
        assert turns_of(log) == [message.text for message in result.messages[1:]]
        assert all(turn.usage.output_tokens for turn in of(TurnFinished, log) if turn.kind == "turn")

    @every_wire
    async def test_what_a_model_thinks_is_kept_and_sent_to_nobody_again(self, fakes: FakeProviders, wire: str) -> None:
        getattr(fakes, wire).says(*(reply(f"Word {n}.", thinking=f"Thought {n}.") for n in range(4)))

        result, log = await play(talk(all_of(TYPES[wire], "Ann", "Bob")))

        assert turns_of(log) == [f"Word {n}." for n in range(4)]
        assert [message.thinking for message in result.messages[1:]] == [f"Thought {n}." for n in range(4)]
        assert not any("Thought" in str(request.body) for request in received_requests(fakes, wire))


def turns_of(log: EventLog) -> list[str]:
    """Returns what a reader of the stream ends up with, turn by turn."""
    said, turns = "", []
    for event in log.events:
        match event:
            case TextDelta(text):
                said += text
            case AttemptFailed():
                said = ""
            case TurnFinished(kind="turn"):
                turns.append(said)
                said = ""
    return turns


class TestAtOnce:
    async def test_fifty_discussions_of_one_manager_are_as_they_were_one_by_one(
        self, fakes: FakeProviders, here: Path
    ) -> None:
        """Every answer depends on the whole request, so a history that was mixed up would show."""

        def answer(body: Mapping[str, Any]) -> Any:
            said = body.get("messages") or body.get("contents")
            return reply(f"{len(str(said))} characters, {hash_of(said)}.", delay=0.01, chunks=3)

        for wire in WIRES:
            getattr(fakes, wire).always(answer)
        models = {wire: {"type": TYPES[wire], "persona": f"I am {wire}."} for wire in WIRES}
        manager = ConversationManager.from_config(talk(models, turns=3, mode="ai-ai"))

        alone = await manager.run_discussion(log := EventLog())
        logs = [EventLog() for _ in range(50)]
        together = await asyncio.gather(*map(manager.run_discussion, logs))

        assert len({result.run_dir for result in (alone, *together)}) == 51
        assert {tuple(transcript(result)) for result in together} == {tuple(transcript(alone))}
        assert {tuple(turns_of(each)) for each in logs} == {tuple(turns_of(log))}
        assert {result.usage for result in together} == {alone.usage}


def hash_of(said: Any) -> int:
    return sum(place * ord(letter) for place, letter in enumerate(str(said))) % 999_983
