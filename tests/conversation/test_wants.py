"""A run that nobody watches does not stream, and what a listener makes use of is all that is asked for."""

from pathlib import Path

import pytest

from ai_battle import ConversationManager
from ai_battle.core.events import EventLog, TextDelta, TurnFinished
from ai_battle.core.exchange import WHOLE_ANSWER, Wants
from ai_battle.testing import FakeProviders, fault

MODELS = {"openai": "gpt-4o", "anthropic": "sonnet", "ollama": "ollama/phi4", "gemini": "gemini-2.5-flash"}


def talk(first: str, second: str) -> ConversationManager:
    models = {"Ann": {"type": first}, "Bob": {"type": second}}
    said = {"turns": 1, "goal": "Talk.", "models": models}
    return ConversationManager.from_config({"discussion": said})


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.chdir(tmp_path)
    return monkeypatch


@pytest.mark.parametrize(
    ("listens", "wants", "is_streamed"),
    [(False, None, False), (True, None, True), (True, WHOLE_ANSWER, False), (True, Wants(drafts=False), True)],
)
async def test_models_are_asked_for_what_is_wanted(
    here: pytest.MonkeyPatch, listens: bool, wants: Wants | None, is_streamed: bool
) -> None:
    async with FakeProviders() as fakes:
        for name, value in fakes.environment.items():
            here.setenv(name, value)
        for provider in (fakes.openai, fakes.anthropic, fakes.ollama, fakes.gemini):
            provider.always("Hello there.")
        for first, second in (("openai", "anthropic"), ("ollama", "gemini")):
            manager, log = talk(MODELS[first], MODELS[second]), EventLog()
            result = await (manager.run_discussion(log, wants) if listens else manager.run_discussion())
            assert [message.text for message in result.messages][1:] == ["Hello there."] * 2
            assert not listens or [type(event) for event in log.events].count(TurnFinished) == 2
        asked = [fakes.openai.questions[0], fakes.anthropic.questions[0], fakes.ollama.questions[0]]

    assert [bool(question.body.get("stream")) for question in asked] == [is_streamed] * 3
    assert "stream" not in str(fakes.gemini.questions[0].path) or is_streamed


async def test_a_listener_still_hears_the_text_of_a_whole_answer(here: pytest.MonkeyPatch) -> None:
    async with FakeProviders() as fakes:
        for name, value in fakes.environment.items():
            here.setenv(name, value)
        fakes.openai.always("Hello there.")
        await talk("gpt-4o", "gpt-4o").run_discussion(log := EventLog(), WHOLE_ANSWER)

    assert [event.text for event in log.events if isinstance(event, TextDelta)] == ["Hello there."] * 2


async def test_a_server_that_falls_silent_is_asked_again_also_for_a_whole_answer(here: pytest.MonkeyPatch) -> None:
    async with FakeProviders() as fakes:
        for name, value in fakes.environment.items():
            here.setenv(name, value)
        fakes.openai.says(fault("stall_before_headers"), "Here I am.", "And I.")
        said = {"turns": 1, "goal": "Talk.", "models": {name: {"type": "gpt-4o"} for name in ("Ann", "Bob")}}
        timeouts = {"request": 4}
        manager = ConversationManager.from_config({"discussion": {**said, "timeouts": timeouts}})
        result = await manager.run_discussion()

    assert [message.text for message in result.messages][1:] == ["Here I am.", "And I."]
