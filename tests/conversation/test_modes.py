"""What each participant is sent, in each mode, and who gets to speak."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from ai_battle import ConversationManager, ModelCollaborationProtocol, Participant, StuckDetector
from ai_battle.core.errors import ConfigError
from ai_battle.core.events import EventLog, SpeakerSelected, TurnFinished
from ai_battle.core.messages import Image, Text
from ai_battle.providers.scripted import ScriptedClient

GOAL = "Find out why the sky is blue."


def client() -> ScriptedClient:
    return ScriptedClient("One.", "Two.", "Three.", "Four.", "Five.", "Six.", loop=True)


def speakers(log: EventLog) -> list[str]:
    return [event.speaker for event in log.events if isinstance(event, TurnFinished)]


async def test_no_meta_sends_nothing_but_the_neutral_prompt_and_what_was_said(tmp_path: Path) -> None:
    ada, bob = client(), client()
    people = [
        Participant("ada", ada, role="human", persona="A physicist.", instructions="Be brief."),
        Participant("bob", bob, persona="A poet."),
    ]
    manager = ConversationManager(
        people, goal=GOAL, mode="no-meta", established_facts={"sky": "blue"}, out=tmp_path / "run"
    )

    await manager.run_discussion()

    first, second = ada.requests[0], bob.requests[0]
    assert (first.system, first.tools, first.output_schema) == ("", (), None)
    assert [message.parts for message in first.messages] == [(Text(GOAL),)]
    assert [(m.role, m.text, m.speaker) for m in second.messages] == [("user", f"{GOAL}\n\nOne.", "")]
    assert {m.speaker for request in (*ada.requests, *bob.requests) for m in request.messages} == {""}
    assert {request.system for request in (*ada.requests, *bob.requests)} == {""}


@pytest.mark.parametrize("mode", ["human-ai", "ai-ai"])
async def test_persona_instructions_facts_and_inputs_are_in_the_first_request_of_each(
    mode: str, tmp_path: Path
) -> None:
    ada, bob = client(), client()
    persona = 'You say {"braces": "$dollars"} as they are.\n  Indented.'
    people = [
        Participant("ada", ada, persona=persona, instructions="Ask about {x}."),
        Participant("bob", bob, persona=persona),
    ]
    picture = Image("image/png", b"pixels")
    manager = ConversationManager(
        people,
        goal=GOAL,
        mode=mode,  # type: ignore[arg-type]
        established_facts={"wavelength": 450, "by": {"whom": "Rayleigh"}},
        inputs=(picture,),
        out=tmp_path / "run",
    )

    await manager.run_discussion()

    for request in (ada.requests[0], bob.requests[0]):
        assert persona in request.system
        assert "wavelength: 450" in request.system
        assert "Rayleigh" in request.system
        assert picture in request.messages[0].parts
        assert GOAL in request.messages[0].text
    assert "Ask about {x}." in ada.requests[0].system
    assert ada.requests[0].messages[0] is ada.requests[1].messages[0], "encoded once: the very same object"


async def test_the_two_sides_of_human_ai_get_different_parts(tmp_path: Path) -> None:
    ada, bob = client(), client()
    people = [Participant("ada", ada), Participant("bob", bob, role="human")]

    await ConversationManager(people, goal=GOAL, turns=1, out=tmp_path / "run").run_discussion()

    assert "You are bob, the human" in bob.requests[0].system
    assert "You are ada, answering a person" in ada.requests[0].system


async def test_an_initial_prompt_opens_and_the_goal_is_kept_in_the_system_prompt(tmp_path: Path) -> None:
    ada, bob = client(), client()
    people = [Participant("ada", ada), Participant("bob", bob)]

    await ConversationManager(people, goal=GOAL, initial_prompt="Hello?", out=tmp_path / "run").run_discussion()

    assert ada.requests[0].messages[0].text == "Hello?"
    assert GOAL in ada.requests[0].system


async def test_with_three_voices_each_contribution_carries_its_name(tmp_path: Path) -> None:
    ada, bob, cy = client(), client(), client()
    people = [Participant("ada", ada), Participant("bob", bob), Participant("cy", cy)]

    await ConversationManager(people, goal=GOAL, turns=2, mode="ai-ai", out=tmp_path / "run").run_discussion()

    assert ada.requests[1].messages[-1].text == "bob: One.\n\ncy: One."
    assert "ada, bob, cy" in ada.requests[0].system


async def test_a_moderator_opens_chooses_and_closes(tmp_path: Path) -> None:
    chair = ScriptedClient("Welcome.", "**Bob**, please!", '{"next": "cy"}', "um", "Goodbye.")
    people = [
        Participant("chair", chair, role="moderator"),
        *(Participant(name, client()) for name in ("ada", "bob", "cy")),
    ]
    manager = ConversationManager(
        people, goal=GOAL, turns=1, speaker_selection="moderator", mode="ai-ai", out=tmp_path / "run"
    )

    result = await manager.run_discussion(log := EventLog())

    assert speakers(log) == ["chair", "bob", "cy", "ada", "chair"]
    selections = [event for event in log.events if isinstance(event, SpeakerSelected)]
    assert [event.how for event in selections] == ["normalised", "chosen", "fallback"]
    assert selections[1].raw == '{"next": "cy"}'
    enum = chair.requests[1].output_schema["properties"]["next"]["enum"]  # type: ignore[index]
    assert enum == ["ada", "bob", "cy"]
    assert result.turns == 5
    assert result.usage.input_tokens > sum(event.usage.input_tokens for event in selections) > 0


async def test_auto_asks_the_model_of_the_last_speaker_and_leaves_that_speaker_out(tmp_path: Path) -> None:
    ada = ScriptedClient("One.", "I think Cy should speak next.", "Five.")
    cy = ScriptedClient("Two.", "ada")
    people = [Participant("ada", ada), Participant("bob", ScriptedClient()), Participant("cy", cy)]
    manager = ConversationManager(
        people,
        goal=GOAL,
        speaker_selection="auto",
        stop={"max_messages": 3},
        mode="ai-ai",
        out=tmp_path / "run",
    )

    await manager.run_discussion(log := EventLog())

    assert speakers(log) == ["ada", "cy", "ada"]
    assert ada.requests[1].output_schema["properties"]["next"]["enum"] == ["bob", "cy"]  # type: ignore[index]


async def test_a_selector_that_fails_is_replaced_by_the_order(tmp_path: Path) -> None:
    chair = ScriptedClient("Welcome.", {"fail": "refused"}, {"fail": "server_error"}, "Goodbye.")
    people = [
        Participant("chair", chair, role="moderator"),
        Participant("ada", client()),
        Participant("bob", client()),
    ]
    manager = ConversationManager(people, goal=GOAL, turns=1, speaker_selection="moderator", out=tmp_path / "run")

    await manager.run_discussion(log := EventLog())

    assert speakers(log)[1] == "ada"
    assert log.events[[type(e) for e in log.events].index(SpeakerSelected)].how == "fallback"  # type: ignore[union-attr]


async def test_an_observer_hears_all_and_speaks_once_at_the_end(tmp_path: Path) -> None:
    eve = ScriptedClient("It went well.")
    people = [Participant("ada", client()), Participant("eve", eve, role="observer"), Participant("bob", client())]

    await ConversationManager(people, goal=GOAL, turns=2, out=tmp_path / "run").run_discussion(log := EventLog())

    assert speakers(log) == ["ada", "bob", "ada", "bob", "eve"]
    last = log.events[-2]
    assert isinstance(last, TurnFinished)
    assert last.kind == "observation"
    heard = eve.requests[0].messages[0].text
    assert "ada: One.\n\nbob: One.\n\nada: Two.\n\nbob: Two." in heard


async def test_random_selection_repeats_with_its_seed_and_never_gives_anyone_two_turns_in_a_row(tmp_path: Path) -> None:
    async def order(run: str, seed: int) -> list[str]:
        people = [Participant(name, client()) for name in ("ada", "bob", "cy")]
        manager = ConversationManager(
            people, goal=GOAL, turns=6, speaker_selection="random", seed=seed, out=tmp_path / run
        )
        await manager.run_discussion(log := EventLog())
        return speakers(log)

    first, again, other = await order("1", 7), await order("2", 7), await order("3", 8)

    assert first == again != other
    assert all(one != next_ for one, next_ in pairwise(first))


async def test_in_parallel_all_answer_the_same_history_and_are_heard_in_order(tmp_path: Path) -> None:
    ada = ScriptedClient({"say": "One.", "delay": 0.05}, "Three.")
    bob = ScriptedClient("Two.", "Four.")
    people = [Participant("ada", ada), Participant("bob", bob)]

    manager = ConversationManager(people, goal=GOAL, turns=2, parallel=True, out=tmp_path / "run")
    result = await manager.run_discussion(log := EventLog())

    assert [message.text for message in result.messages] == [GOAL, "One.", "Two.", "Three.", "Four."]
    assert [message.text for message in bob.requests[0].messages] == [GOAL]
    assert log.text == "One.Two.Three.Four."
    assert bob.requests[1].messages[0].text == f"{GOAL}\n\nOne."


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"participants": []}, "at least two participants; it has 0"),
        ({"goal": " "}, "needs a goal"),
        ({"turns": 0}, "turns is 0"),
        ({"stop": {"phraze": "x"}}, "did you mean 'phrase'"),
    ],
)
async def test_what_can_not_become_a_discussion_is_refused(
    change: dict[str, object], message: str, tmp_path: Path
) -> None:
    people = [Participant("ada", client()), Participant("bob", client())]
    settings: dict[str, object] = {"participants": people, "goal": GOAL, "out": tmp_path / "run", **change}

    with pytest.raises(ConfigError, match=message):
        ConversationManager(**settings)  # type: ignore[arg-type]
    assert not (tmp_path / "run").exists()


async def test_two_participants_of_one_name_are_refused() -> None:
    with pytest.raises(ConfigError, match="used twice: ada"):
        ConversationManager([Participant("ada", client()), Participant("ada", client())], goal=GOAL)


def test_the_name_of_a_model_is_no_client() -> None:
    named: Any = "gpt-4o"
    with pytest.raises(ConfigError, match=r"The client of bob is 'gpt-4o'.*make one: create_client\('gpt-4o'\)"):
        ConversationManager([Participant("ada", client()), Participant("bob", named)], goal=GOAL)
    with pytest.raises(ConfigError, match="The secondary model of rescue is None, which is not a ModelClient"):
        ModelCollaborationProtocol(client(), None, StuckDetector())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mode": "human_ai"}, "mode is 'human_ai'; did you mean 'human-ai'"),
        ({"speaker_selection": "roundrobin"}, "did you mean 'round_robin'"),
        ({"speaker_selection": "moderator"}, "no participant has the role moderator"),
        ({"limits": {"cost": 1}}, "limits has no option 'cost'; did you mean 'cost_usd'"),
    ],
)
def test_a_misspelt_setting_is_named_with_a_near_one(change: dict[str, object], message: str) -> None:
    people = [Participant("ada", client()), Participant("bob", client())]

    with pytest.raises(ConfigError, match=message):
        ConversationManager(people, goal=GOAL, **change)  # type: ignore[arg-type]


def test_an_unknown_role_is_named() -> None:
    with pytest.raises(ConfigError, match="The role of bob is 'observr'; did you mean 'observer'"):
        ConversationManager(
            [Participant("ada", client()), Participant("bob", client(), role="observr")],  # type: ignore[arg-type]
            goal=GOAL,
        )
