"""What the detector says of questions back, denied access, work left to the user and repeated questions."""

import pytest

from ai_battle import StuckDetector
from ai_battle.core.exchange import ToolSpec
from ai_battle.core.messages import assistant, user
from ai_battle.judging.assessment import NO_CONTEXT, Assessment, Context

WEATHER = ToolSpec("get_weather", "The weather of a city.", {"properties": {"city": {"type": "string"}}})
ORDERS = ToolSpec("lookup_order", "Looks up an order by its number.", {"properties": {"order_id": {"type": "string"}}})
CELLS = ToolSpec("read_cells", "Reads cells from the user's spreadsheet.", {"properties": {"range": {}}})
FILES = ToolSpec("read_file", "Reads a text file.", {"properties": {"path": {"type": "string"}}})


def assess(response: str, prompt: str, context: Context = NO_CONTEXT) -> Assessment:
    return StuckDetector().assess(response, prompt, context)


@pytest.mark.parametrize(
    ("answer", "prompt"),
    [
        ("Please give me the order number, then I'll check.", "Where is my order?"),
        ("Sure, please paste the sentence here.", "Can you fix this sentence?"),
        ("Schicken Sie mir bitte den Text, dann korrigiere ich ihn sofort.", "Kannst du meinen Text korrigieren?"),
    ],
)
def test_asking_for_what_the_prompt_lacks_is_a_right_answer(answer: str, prompt: str) -> None:
    assert not assess(answer, prompt).stuck
    assert not assess(answer, prompt, Context(tools=(ORDERS,))).stuck


def test_asking_for_what_the_prompt_gives_is_an_empty_promise() -> None:
    answer = "Please give me the order number, then I'll check."
    assert assess(answer, "Where is order 1182?", Context(tools=(ORDERS,))).at_once


@pytest.mark.parametrize(
    ("answer", "prompt"),
    [
        ("Ich habe leider keinen Zugriff auf Bestellungen.", "Wo ist Bestellung 1182?"),
        ("Je n'ai pas accès aux commandes.", "Où est la commande 1182 ?"),
        ("No tengo acceso a los pedidos.", "¿Dónde está el pedido 1182?"),
    ],
)
def test_denied_access_is_found_in_other_languages_than_that_of_the_tools(answer: str, prompt: str) -> None:
    assert assess(answer, prompt, Context(tools=(ORDERS,))).at_once
    assert not assess(answer, prompt, Context(tools=(WEATHER,))).stuck


MAIL = ToolSpec("send_mail", "Sends a mail.", {"properties": {"to": {}, "body": {}}, "required": ["to", "body"]})


@pytest.mark.parametrize(
    ("answer", "prompt", "tool"),
    [
        ("I cannot send e-mails.", "Mail Ines (ines@example.org) that lunch is at 1.", MAIL),
        ("I don't have access to live weather data.", "Will it rain in Lyon?", WEATHER),
        ("Ich habe keinen Zugriff auf aktuelle Wetterdaten.", "Wie ist das Wetter in Graz?", WEATHER),
        ("I can't open files, so I don't know.", "Which port does config.yaml set?", FILES),
    ],
)
def test_denying_what_a_tool_does_is_a_failure(answer: str, prompt: str, tool: ToolSpec) -> None:
    assert assess(answer, prompt, Context(tools=(tool,))).at_once


def test_asking_for_one_of_several_values_that_a_tool_needs_is_a_right_answer() -> None:
    question = "What's the address of Paul?"
    assert not assess(question, "Mail Paul that I'm late.", Context(tools=(MAIL,))).stuck


@pytest.mark.parametrize(
    ("answer", "prompt", "stuck"),
    [
        ("Please share the data in those cells and I'll add it up.", "What is the sum of A1 to A3?", True),
        ("Please copy the content of notes.txt here.", "How many lines has notes.txt?", True),
        ("Please copy the text of your speech here.", "Improve my speech for 12 June.", False),
        ("Select the cells, copy the values and paste them.", "How do I copy cells?", False),
    ],
)
def test_handing_the_work_of_a_tool_to_the_user_is_a_failure(answer: str, prompt: str, stuck: bool) -> None:
    assert assess(answer, prompt, Context(tools=(CELLS, FILES))).stuck is stuck


@pytest.mark.parametrize(
    ("prompt", "stuck"),
    [
        ("Who wrote Dracula?", False),
        ("Who wrote Dracula again, please?", False),
        ("Are you sure? Who wrote Dracula?", False),
        ("Who wrote Emma?", True),
        ("Who did not write Dracula?", True),
        ("What else is in it?", True),
    ],
)
def test_a_question_that_is_asked_again_has_the_same_answer_once(prompt: str, stuck: bool) -> None:
    said = "Bram Stoker wrote Dracula, which was published in 1897."
    once = (user("Who wrote Dracula?"), assistant(said))
    assert assess(said, prompt, Context(history=once)).stuck is stuck
    assert assess(said, prompt, Context(history=(*once, user(prompt), assistant(said)))).stuck
