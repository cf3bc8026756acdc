"""What answers say about themselves, in several languages."""

import pytest

from ai_battle.signals.wording import admits, refuses, self_corrections

ADMITS = [
    "I'm not sure how to do this.",
    "I don't know how to solve that.",
    "I\u2019M UNABLE TO HELP WITH THIS",
    "I can't perform this task.",
    "This is beyond my capabilities.",
    "Sorry, I really don't know.",
    "I have no idea.",
    "Ich wei\u00df es nicht.",
    "Je ne sais pas.",
    "No lo s\u00e9.",
    "Non lo so.",
    "N\u00e3o sei.",
    "\u6211\u4e0d\u77e5\u9053\u3002",
    "\u308f\u304b\u308a\u307e\u305b\u3093",
]
DOES_NOT_ADMIT = [
    "The answer is 4.",
    "It is not that I don't know it: the answer is 4.",
    "If I am not able to come, call me.",
    'She said: "I don\'t know".',
    "Don't say I cannot solve it.",
    "I am sure.",
    "",
    f"{'The rule holds for all of them. ' * 20}I don't know.",
]


@pytest.mark.parametrize("text", ADMITS)
def test_not_knowing_is_heard(text: str) -> None:
    assert admits(text)


@pytest.mark.parametrize("text", DOES_NOT_ADMIT)
def test_what_is_denied_quoted_conditional_or_said_in_passing_is_not(text: str) -> None:
    assert not admits(text)


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


def test_taking_back_is_counted() -> None:
    assert self_corrections("It is 5. Wait, that is wrong. Actually, it is 6.") == 3
    assert self_corrections("Ich habe mich verrechnet.") == 1
    assert self_corrections("Wait for the bus; it actually comes.") == 0
