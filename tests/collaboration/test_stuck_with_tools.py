"""In a discussion tools are at hand that most turns have no use for: those are judged as if there were none."""

import pytest

from ai_battle import ModelRequest, StuckDetector, ToolSpec
from ai_battle.collaboration import takeover
from ai_battle.core.events import EventLog
from ai_battle.core.helping import StuckFound
from ai_battle.core.messages import Message, Text, ToolCall, ToolResult, assistant, user
from ai_battle.judging.assessment import Context
from ai_battle.providers.scripted import ScriptedClient
from ai_battle.tools.builtin.calculator import CalculatorTool
from ai_battle.tools.calls import RunnerLimits
from ai_battle.tools.client import ToolCapableClient

CODE = ToolSpec("code_execution", "Runs code", {"type": "object", "properties": {"code": {"type": "string"}}})
SEARCH = ToolSpec("web_search", "Searches the web", {"type": "object", "properties": {"query": {"type": "string"}}})
BOTH = Context(tools=(CODE, SEARCH), history=(user("We plan a garden."), assistant("Gladly.")))


def is_stuck(prompt: str, answer: str, context: Context = BOTH) -> bool:
    return StuckDetector().assess(answer, prompt, context).stuck


def test_a_turn_that_needs_no_tool_is_not_stuck_for_calling_none() -> None:
    assert not is_stuck(
        "Plan a vegetable garden for a small yard.", "Lime the soil first: it is too acid for tomatoes."
    )


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ("Talk on.", "I can't help with that."),
        ("What do you think of it?", "I don't know."),
        ("A tray holds 24 rolls. How many rolls are on 7 trays?", "7 * 24 = 158 rolls. The answer is 158."),
    ],
)
def test_a_poor_answer_is_poor_with_tools_at_hand_as_well(prompt: str, answer: str) -> None:
    assert is_stuck(prompt, answer)
    assert is_stuck(prompt, answer, Context())


def test_where_the_prompt_asks_for_a_tool_a_call_is_due() -> None:
    assert is_stuck("Search the web for the weather in Paris.", "It is sunny.")


def test_an_answer_after_calls_is_judged_by_its_calls() -> None:
    call = ToolCall("web_search", {"query": "weather"}, "c1")
    steps = (Message("assistant", (call,)), Message("tool", (ToolResult(call),)))

    assert not is_stuck("Talk on.", "It is sunny.", Context(tools=BOTH.tools, steps=steps))


@pytest.mark.parametrize(
    ("prompt", "date", "supported"),
    [
        ("Put the dentist on May 4 into my calendar.", "2031-05-04", True),
        ("Put the dentist on May 4 into my calendar.", "2031-06-14", False),
        ("Put the dentist into my calendar for tomorrow.", "2031-06-14", True),
    ],
)
def test_a_date_may_be_written_in_another_way_than_in_the_prompt(prompt: str, date: str, supported: bool) -> None:
    tool = ToolSpec("add_event", "Adds an event to the calendar.", {"properties": {"title": {}, "date": {}}})
    call = ToolCall("add_event", {"title": "Dentist", "date": date})
    found = StuckDetector().assess("", prompt, Context(tools=(tool,), steps=(Message("assistant", (call,)),)))
    assert ("value_from_nowhere" not in found.signals) is supported
    assert found.stuck is not supported


@pytest.mark.parametrize(
    ("prompt", "given", "is_text"),
    [
        (
            "Make the settings dark.",
            {"path": "settings.css", "new": "body { background: black; color: white; font: serif; margin: auto }"},
            True,
        ),
        ("Thank #ops for the move.", {"path": "#ops", "new": "Hello all, that went like clockwork yesterday!"}, True),
        ("Make the settings dark.", {"path": "settings.css", "new": "k81"}, False),
        ("Thank them for the move.", {"path": "general-42", "new": "Hello all, that went like clockwork!"}, False),
    ],
)
def test_a_text_is_written_by_the_model_and_a_name_or_a_number_is_not(
    prompt: str, given: dict[str, str], is_text: bool
) -> None:
    tool = ToolSpec("change", "Changes it.", {"properties": {"path": {}, "new": {}}})
    call = (Message("assistant", (ToolCall("change", given),)),)
    assert is_stuck(prompt, "", Context(tools=(tool,), steps=call)) is not is_text


def test_a_program_and_a_value_of_an_earlier_result_come_from_somewhere() -> None:
    """Programs are written, not copied; an id that neither the messages nor a result has is invented."""
    program = (Message("assistant", (ToolCall("code_execution", {"code": "import sympy; print(sympy.isprime(97))"}),)),)
    assert not is_stuck("Is that number prime?", "", Context(tools=(CODE,), steps=program))

    tools = tuple(ToolSpec(name, "", {"properties": {key: {}}}) for name, key in (("find", "email"), ("orders", "id")))
    found = ToolCall("find", {"email": "lena@shop.org"}, "c1")
    result = (Message("assistant", (found,)), Message("tool", (ToolResult(found, (Text("u_8812"),)),)))
    asking = Message("assistant", (ToolCall("orders", {"id": "u_8812"}, "c2"),))
    assert not is_stuck("What has lena@shop.org bought?", "", Context(tools=tools, steps=(*result, asking)))
    assert is_stuck("What has lena@shop.org bought?", "", Context(tools=tools, steps=(asking,)))


@pytest.mark.parametrize(("sums", "helped"), [(["2+2", "2+2"], True), (["2+2", "3+3"], False)])
async def test_calls_in_circles_that_had_to_be_ended_say_that_an_answer_is_poor(sums: list[str], helped: bool) -> None:
    """A limit of rounds that is reached says nothing of the answer."""
    calls = [{"tool": "calculator", "parameters": {"expression": written}} for written in sums]
    small = ScriptedClient(*({"call": each} for each in calls), "It is on its way.")
    tools = ToolCapableClient(small, [CalculatorTool()], RunnerLimits(max_rounds=2, backoff_seconds=0))
    client = takeover.create(tools, ScriptedClient("We are nearly there."))

    response = await client.complete(ModelRequest((user("How do we get on?"),)), log := EventLog())

    found = [event.signals["guard_tripped"] for event in log.events if isinstance(event, StuckFound)]
    assert found == [1.0] * helped
    assert response.text == ("We are nearly there." if helped else "It is on its way.")


def test_the_gravest_finding_is_told_first() -> None:
    found = StuckDetector().assess("7 * 24 = 158 rolls. The answer is 158.", "How many rolls are 7 trays of 24 rolls?")

    assert found.reason.startswith("a sum in it does not hold")


@pytest.mark.parametrize(
    ("prompt", "answer", "expected"),
    [
        ("How is the weather in Bergen?", "[get_forecast(city='Bergen', days=2)]", True),
        ("Wie hoch ist der Zins auf 300 Euro?", "[func1(amount=300), func2(years=1)]", True),
        ("What are the derivatives of sin(x) and cos(x)?", "[cos(x), -sin(x)]", False),
        ("Where is the manual?", "[the manual (online)](https://example.com/manual)", False),
        (
            "How do I open a window in tkinter?",
            "Call `tkinter.Tk()`; its title is set with `title(string='Mine')`.",
            False,
        ),
        ("Say something, Ada.", "[Ada (laughing)] I would rather not talk about the weather.", False),
    ],
)
def test_an_answer_that_is_a_call_of_no_tool_is_poor(prompt: str, answer: str, expected: bool) -> None:
    assert is_stuck(prompt, answer) is expected
