"""The conversation as one participant sees it."""

from hypothesis import given
from hypothesis import strategies as st

from ai_battle.conversation.prompting import CONTINUE, Naming, View, view_of
from ai_battle.core.messages import Image, Message, Text, Thinking, ToolCall, ToolResult, assistant, user

NAMES = ("ada", "bob", "cy")
CALL = ToolCall("clock", {}, "call_1")


def steps(speaker: str) -> tuple[Message, Message]:
    return Message("assistant", (CALL,), speaker), Message("tool", (ToolResult(CALL, (Text("noon"),)),), speaker)


TURNS = st.lists(st.tuples(st.sampled_from(NAMES), st.text(max_size=5), st.booleans()), max_size=12)
NAMINGS = st.sampled_from(("plain", "prefixed", "nameless"))


@st.composite
def histories(draw: st.DrawFn) -> list[Message]:
    said = [user("Go.")] if draw(st.booleans()) else []
    for name, text, with_tools in draw(TURNS):
        said.extend(steps(name) if with_tools else ())
        said.append(assistant(text, name))
    return said


@given(histories(), NAMINGS)
def test_the_view_that_is_kept_up_equals_the_view_from_scratch_after_each_message(
    history: list[Message], naming: Naming
) -> None:
    view = View("ada", naming)
    for count in range(len(history) + 1):
        assert view_of("ada", history[:count], naming) == view.messages
        if count < len(history):
            view.append(history[count])


@given(histories(), NAMINGS)
def test_user_and_assistant_alternate_and_a_user_speaks_first_and_last(history: list[Message], naming: Naming) -> None:
    seen = view_of("ada", history, naming)

    turns = [message.role for message in seen if not message.tool_calls and not message.tool_results]
    assert turns == ["user", "assistant"] * (len(turns) // 2) + ["user"]


def test_what_i_said_is_the_same_object_in_every_later_request() -> None:
    mine = assistant("One.", "ada")
    view = View("ada")
    for message in (user("Go."), mine, assistant("Two.", "bob")):
        view.append(message)
    first = view.messages
    view.append(assistant("Three.", "ada"))
    view.append(assistant("Four.", "bob"))

    assert all(before is after for before, after in zip(first, view.messages, strict=False))
    assert mine is first[1]


def test_all_that_others_said_since_i_spoke_is_one_message_with_their_names() -> None:
    history = [user("Go."), assistant("One.", "ada"), assistant("Two.", "bob"), assistant("cy: Three.", "cy")]

    assert view_of("ada", history, "prefixed")[-1].text == "bob: Two.\n\ncy: Three."


def test_between_two_the_text_goes_as_it_is_and_the_speaker_is_kept() -> None:
    last = view_of("ada", [user("Go."), assistant("One.", "ada"), assistant("Two.", "bob")])[-1]

    assert (last.text, last.speaker) == ("Two.", "bob")


def test_without_names_nobody_is_named() -> None:
    history = [user("Go."), assistant("One.", "ada"), assistant("Two.", "bob"), assistant("Three.", "cy")]

    seen = view_of("ada", history, "nameless")

    assert [message.text for message in seen] == ["Go.", "One.", "Two.\n\nThree."]
    assert {""} == {message.speaker for message in seen}


def test_only_text_crosses_from_one_to_another() -> None:
    thought = Message("assistant", (Thinking("Hm."), Text("Yes."), Image("image/png", b"x")), "bob")

    seen = view_of("ada", [user("Go."), *steps("bob"), thought], "plain")

    assert (Text("Go.\n\nYes."),) == seen[0].parts


def test_the_files_of_the_prompt_stay_with_it() -> None:
    picture = Image("image/png", b"x")
    history = [Message("user", (picture, Text("Look."))), assistant("A cat.", "bob")]

    assert (picture, Text("Look.\n\nA cat.")) == view_of("ada", history)[0].parts
    assert view_of("bob", history)[0] is history[0]


def test_who_speaks_twice_in_a_row_is_asked_to_go_on() -> None:
    seen = view_of("ada", [user("Go."), assistant("One.", "ada"), assistant("Two.", "ada")])

    assert [seen[2], seen[3].text, seen[4]] == [CONTINUE, "Two.", CONTINUE]


def test_tool_calls_and_their_results_stay_together_in_my_own_view() -> None:
    seen = view_of("ada", [user("Go."), *steps("ada"), assistant("Noon.", "ada")])

    assert [message.role for message in seen] == ["user", "assistant", "tool", "assistant", "user"]


def test_what_one_thought_is_sent_back_only_with_the_tools_that_it_led_to() -> None:
    use = Message("assistant", (Thinking("I need it."), ToolCall("add", id="1")), "ada")
    result = Message("tool", (ToolResult(ToolCall("add", id="1"), (Text("3"),)),), "ada")
    answer = Message("assistant", (Thinking("So 3."), Text("3.")), "ada")

    _, *own, _ = view_of("ada", (user("Add."), use, result, answer))

    assert [message.thinking for message in own] == ["I need it.", "", ""]
    assert own[-1].text == "3."
