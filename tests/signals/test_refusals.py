"""What answers say about themselves, in several languages."""

import pytest

from ai_battle.signals.refusals import refuses


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "As an AI language model, I cannot open links.",
        "I must decline.",
        "Es tut mir leid, aber ich kann dabei nicht helfen.",
        "Lo siento, no puedo ayudar.",
        "D\u00e9sol\u00e9, je ne peux pas.",
    ],
)
def test_a_refusal_is_heard(text: str) -> None:
    assert refuses(text)


@pytest.mark.parametrize("text", ["Gladly: here it is.", "I'm sorry to hear that. Try this.", "You can't lose."])
def test_kindness_is_no_refusal(text: str) -> None:
    assert not refuses(text)
