"""Measures after each turn, and hints where a conversation goes wrong: told for one turn, in the journal, in order."""

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from ai_battle import ConversationManager, Participant, RunResult
from ai_battle.conversation.reading import read
from ai_battle.core.client import ModelClient
from ai_battle.core.errors import ConfigError
from ai_battle.core.events import Emit, TurnFinished, ignore
from ai_battle.core.exchange import ModelRequest, ModelResponse
from ai_battle.core.helping import HintGiven
from ai_battle.testing import ScriptedClient

GOAL = "Should the city close the old bridge to cars?"
CIRCLE = {
    "Ann": "The city should close the old bridge to cars: bus lanes are blocked each morning, and riders lose time.",
    "Bob": "Shop owners near the bridge live on customers with cars; parking on the western bank has to come first.",
}
TALK = {
    "Ann": (
        "Start with a number: on a working day nine thousand cars cross, and six hundred of them look for parking.",
        "Then freight is the hard case. A tram depot stands empty at the northern end, with a ramp that lorries fit.",
        "Insurance would cover the first winter, I think, if engineers inspect the pillars before November.",
        "Let us ask the ferry company too, because its pier would carry bicycles while the deck is rebuilt.",
    ),
    "Bob": (
        "Six hundred is less than shopkeepers claim. Deliveries worry me more, since bakeries get flour before dawn.",
        "The depot belongs to a museum now, so a lease has to be signed, and neighbours fear noise at night.",
        "Pillars were inspected last spring; rust was found at two bolts. Repairs take a week and need a crane.",
        "A pier for bicycles needs rails and lamps, which the harbour office pays when schools use the crossing.",
    ),
}


def circling(**settings: Any) -> dict[str, Any]:
    """Two who say the same each time, one of them as `human-ai` has it."""
    models = {name: {"type": "scripted", "script": [text], "loop": True} for name, text in CIRCLE.items()}
    return {"discussion": {"goal": GOAL, "mode": "ai-ai", "turns": 6, "models": models, **settings}}


async def run(config: Mapping[str, Any], run_dir: Path) -> RunResult:
    return await ConversationManager.from_config(config, out=run_dir).run_discussion()


def hints(run_dir: Path) -> list[tuple[int, str, str, str]]:
    found = (event for _, event in read(run_dir) if isinstance(event, HintGiven))
    return [(hint.turn, hint.speaker, hint.fault, hint.action) for hint in found]


def measures(run_dir: Path) -> Iterator[Mapping[str, float]]:
    return (event.signals or {} for _, event in read(run_dir) if isinstance(event, TurnFinished))


async def test_a_circle_is_named_and_told_of_more_strongly_and_then_left_in_peace(tmp_path: Path) -> None:
    await run(circling(turns=9), tmp_path / "run")

    assert [hint for hint in hints(tmp_path / "run") if hint[1] == "Bob"] == [
        (6, "Bob", "repetition", "hint"),
        (8, "Bob", "repetition", "stronger"),
        (10, "Bob", "repetition", "template"),
        (18, "Bob", "repetition", "hint"),
    ]
    told = [event.text for _, event in read(tmp_path / "run") if isinstance(event, HintGiven)]
    assert any("You explore the goal of this conversation with another AI" in hint for hint in told)


async def test_of_two_sides_the_human_one_is_told(tmp_path: Path) -> None:
    models = circling()["discussion"]["models"]
    models["Bob"]["role"] = "human"
    await run(circling(mode="human-ai", models=models), tmp_path / "run")

    assert {speaker for _, speaker, _, _ in hints(tmp_path / "run")} == {"Bob"}


async def test_no_person_and_no_moderator_is_told_anything(tmp_path: Path) -> None:
    models = {
        **circling()["discussion"]["models"],
        "You": {"role": "user"},
        "Chair": {"type": "scripted", "script": ["Begin."], "loop": True, "role": "moderator"},
    }

    async def person(prompt: str) -> str:
        return CIRCLE["Ann"]

    await ConversationManager.from_config(circling(models=models), out=tmp_path / "run", ask=person).run_discussion()

    assert {speaker for _, speaker, _, _ in hints(tmp_path / "run")} == {"Ann", "Bob"}


@pytest.mark.parametrize("settings", [{"signals": False}, {"mode": "no-meta"}, {"signals": {"enabled": False}}])
async def test_without_signals_nothing_is_measured_and_nobody_told(settings: dict[str, Any], tmp_path: Path) -> None:
    await run(circling(**settings), tmp_path / "run")

    assert not any(measures(tmp_path / "run"))
    assert hints(tmp_path / "run") == []


async def test_the_control_group_can_be_measured_and_is_told_nothing(tmp_path: Path) -> None:
    await run(circling(mode="no-meta", signals=True), tmp_path / "run")

    assert all(measures(tmp_path / "run"))
    assert hints(tmp_path / "run") == []


async def test_a_threshold_of_one_is_never_passed_and_no_steps_measure_only(tmp_path: Path) -> None:
    await run(circling(signals={"thresholds": {"repetition": 1}}), tmp_path / "one")
    await run(circling(signals={"steps": []}), tmp_path / "none")

    assert hints(tmp_path / "one") == hints(tmp_path / "none") == []
    assert [*measures(tmp_path / "none")][-1]["repetition"] == 1


async def test_a_cool_down_of_nothing_begins_anew_at_once(tmp_path: Path) -> None:
    await run(circling(signals={"steps": "hint", "cool_down": 0}), tmp_path / "run")

    assert [turn for turn, speaker, _, _ in hints(tmp_path / "run") if speaker == "Ann"] == [5, 7, 9, 11]


async def test_few_words_are_no_fault(tmp_path: Path) -> None:
    models = {name: {"type": "scripted", "script": ["I agree, great point!"], "loop": True} for name in ("Ann", "Bob")}
    await run(circling(models=models), tmp_path / "run")

    assert hints(tmp_path / "run") == []


def clients(run_dir: Path, said: Mapping[str, tuple[str, ...]], **settings: Any) -> tuple[ConversationManager, Any]:
    voices = {name: ScriptedClient(*texts) for name, texts in said.items()}
    people = [Participant(name, client) for name, client in voices.items()]
    return ConversationManager(people, goal=GOAL, mode="ai-ai", turns=4, out=run_dir, **settings), voices


async def test_the_hint_ends_one_request_and_stays_in_no_memory(tmp_path: Path) -> None:
    manager, voices = clients(tmp_path / "run", {name: (text,) * 4 for name, text in CIRCLE.items()})
    await manager.run_discussion()

    given = {event.turn: event.text for _, event in read(tmp_path / "run") if isinstance(event, HintGiven)}
    sent = [request.messages for request in voices["Bob"].requests]
    assert [messages[-1].text.endswith(given.get(2 * n + 2, "?")) for n, messages in enumerate(sent)] == [
        False, False, True, True,
    ]  # fmt: skip
    assert "note for this turn" not in "".join(message.text for message in sent[-1][:-1])
    assert "note for this turn" not in "".join(request.system for request in voices["Bob"].requests)


async def test_a_healthy_conversation_is_sent_what_it_was_sent_without_measures(tmp_path: Path) -> None:
    requests = []
    for name, signals in (("on", None), ("off", False)):
        manager, voices = clients(tmp_path / name, TALK, signals=signals)
        await manager.run_discussion()
        requests.append([client.requests for client in voices.values()])

    assert hints(tmp_path / "on") == []
    assert requests[0] == requests[1]


class Interrupted(ModelClient):
    """Answers until the third question, which it never answers."""

    def __init__(self, text: str, *, silent_from: int) -> None:
        self.text, self.left = text, silent_from

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        self.left -= 1
        if not self.left:
            raise asyncio.CancelledError
        return await ScriptedClient(self.text).complete(request, emit)


@pytest.mark.parametrize("parallel", [False, True])
async def test_a_run_that_is_taken_up_again_gives_the_same_hints(tmp_path: Path, parallel: bool) -> None:
    for name, silent_from in (("whole", 99), ("broken", 4)):
        people = [
            Participant("Ann", Interrupted(CIRCLE["Ann"], silent_from=99)),
            Participant("Bob", Interrupted(CIRCLE["Bob"], silent_from=silent_from)),
        ]
        manager = ConversationManager(people, goal=GOAL, mode="ai-ai", turns=7, out=tmp_path / name, parallel=parallel)
        if name == "whole":
            await manager.run_discussion()
        else:
            with pytest.raises(asyncio.CancelledError):
                await manager.run_discussion()
            await manager.resume(tmp_path / name)

    once = dict.fromkeys(hints(tmp_path / "broken"))
    assert [*once] == hints(tmp_path / "whole")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"signals": {"thresholds": {"repetitions": 0.5}}}, "did you mean 'repetition'"),
        ({"signals": {"thresholds": {"drift": 70}}}, "write 0.7"),
        ({"signals": {"steps": ["hints"]}}, "steps"),
        ({"signals": "sometimes"}, "signals"),
        ({"goal_mode": "make"}, "goal_mode"),
    ],
)
def test_what_can_not_be_set_is_an_error_with_its_place(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as error:
        ConversationManager.from_config(circling(**settings))
    assert "discussion." in str(error.value)


def test_from_python_too(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cool_down"):
        clients(tmp_path, CIRCLE, signals={"cool_down": -1})  # type: ignore[arg-type]


async def test_a_branch_goes_on_where_its_run_had_come_to(tmp_path: Path) -> None:
    manager = ConversationManager.from_config(circling(turns=7), out=tmp_path / "run")
    await manager.run_discussion()
    branch = ConversationManager.from_config(circling(turns=7), out=tmp_path / "branch")
    await branch.fork(tmp_path / "run", 6)

    assert hints(tmp_path / "branch") == hints(tmp_path / "run")


async def test_whoever_has_not_heard_the_last_turns_is_told_nothing_of_them(tmp_path: Path) -> None:
    models = {**circling()["discussion"]["models"], "Cleo": {"type": "scripted", "script": ["Hm."], "loop": True}}
    await run(circling(models=models, visibility={"Cleo": ["Ann"]}), tmp_path / "run")

    assert {speaker for _, speaker, _, _ in hints(tmp_path / "run")} == {"Ann", "Bob"}


async def test_agreement_in_the_last_round_is_how_a_discussion_ends(tmp_path: Path) -> None:
    praise = {
        "Ann": ("Great point, I completely agree with you on the bridge, {}, and I couldn't put it any better.",) * 4,
        "Bob": ("Absolutely right, well said, I fully agree on the {} bridge, and there is nothing to add to it.",) * 4,
    }
    words = ("permits", "museum", "harbour", "winter")
    said = {
        name: tuple(text.format(word) for text, word in zip(texts, words, strict=True))
        for name, texts in praise.items()
    }
    only = {"thresholds": {"repetition": 1, "formulaic": 1}}
    await clients(tmp_path / "run", said, signals=only)[0].run_discussion()

    assert {fault for _, _, fault, _ in hints(tmp_path / "run")} == {"agreement"}
    assert max(turn for turn, _, _, _ in hints(tmp_path / "run")) == 6
