"""The detector: what it finds, when it says stuck, and how it counts."""

import pytest

from ai_battle import StuckDetector
from ai_battle.core.errors import ConfigError
from ai_battle.core.exchange import ModelRequest, ModelResponse, ToolSpec
from ai_battle.core.messages import Message, Text, ToolCall, ToolResult, assistant, user
from ai_battle.judging.assessment import Assessment, Context
from ai_battle.judging.calibration import Calibration

APPLES = "Janet has 12 apples. She gives 5 to Tom and buys 3 bags with 4 apples in each. How many apples has she?"
RIGHT = (
    "Janet has 12 - 5 = 7 apples left. The bags hold 3 * 4 = 12 apples. Together she has 7 + 12 = 19 apples.\n#### 19"
)
WRONG_SUM = (
    RIGHT.replace("3 * 4 = 12", "3 * 4 = 16").replace("7 + 12 = 19", "7 + 16 = 23").replace("#### 19", "#### 23")
)
NOT_CALCULATED = "Janet has some apples. She gets more of them, so in the end she has 31 of them.\n#### 31"
CHOICE = "Which planet is the largest?\n(A) Mars\n(B) Jupiter\n(C) Venus\n(D) Earth"
WEATHER = ToolSpec(
    "get_weather",
    "The weather of a city on a day.",
    {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
    },
)
MAIL = ToolSpec("send_mail", "Sends a mail.", {"type": "object", "properties": {"to": {"type": "string"}}})
ASKED = "What will the weather be in Oslo for the next 3 days?"


def assess(response: str, prompt: str, context: Context | ModelRequest | None = None) -> Assessment:
    return StuckDetector().assess(response, prompt, context)


def calling(name: str, **arguments: object) -> Context:
    """The context of an answer that is a native call."""
    return Context(
        tools=(WEATHER, MAIL), steps=(Message("assistant", (ToolCall(name, arguments),)),), stop="tool_calls"
    )


def test_a_good_answer_is_left_alone() -> None:
    found = assess(RIGHT, APPLES)
    assert found.quality > 0.8
    assert (found.stuck, found.reason, found.at_once) == (False, "", False)
    assert "wrong_sums" not in found.signals


@pytest.mark.parametrize(
    ("response", "signal"),
    [
        (WRONG_SUM, "wrong_sums"),
        (NOT_CALCULATED, "no_sums"),
        (
            "She begins with some apples. She gets more. She has a lot then, so the answer is 31.",
            "final_not_in_working",
        ),
        (NOT_CALCULATED, "facts_unused"),
        ("12 - 5 = 7, which she has left at the end.\n#### 7", "facts_not_reached"),
        (f"If she gives 5 away, 7 are left, but it is not clear why, because nothing is said. {RIGHT}", "arguments"),
        ("She has 12 - 5 = 7 and 89 / 2 = 44.5.\n#### 44.5", "number_misread"),
    ],
)
def test_each_signal_of_a_calculation_is_named_and_costs_quality(response: str, signal: str) -> None:
    found = assess(response, APPLES)
    assert found.signals[signal] > 0
    assert found.quality < assess(RIGHT, APPLES).quality
    assert found.gain > assess(RIGHT, APPLES).gain


def test_an_answer_alone_is_not_blamed_for_showing_no_working() -> None:
    found = assess("4", "What is 2 + 2? Answer with the number only.")
    assert not found.stuck
    assert "no_sums" not in found.signals


@pytest.mark.parametrize(
    ("response", "prompt"),
    [
        ("With a running time of 2 hours and 14 minutes the film ends at 22:24.",
         "The film begins at 20:10 and runs 134 minutes. When will we be out?"),
        ("Del 8 de abril al 30 de mayo hay 52 días, sin contar el primero de ellos.",
         "¿Cuántos días hay del 8 de abril al 30 de mayo?"),
        ("A irmã do Pedro, que é nove anos mais velha do que ele, tem 21 anos de idade.",
         "Pedro tem 12 anos e a irmã tem 9 anos a mais. Quantos anos tem a irmã?"),
        ("You may stay until 13:05. Please put the ticket behind the windscreen where it can be seen well.",
         "If I park at 11:35 and have 90 minutes, until when may I stay?"),
    ],
)  # fmt: skip
def test_a_sentence_or_two_without_a_sum_is_not_blamed_for_showing_no_working(response: str, prompt: str) -> None:
    found = assess(response, prompt)
    assert not found.stuck
    assert found.signals.keys().isdisjoint({"no_sums", "final_not_in_working", "facts_unused"})


def test_a_sum_that_is_cut_off_is_working_all_the_same() -> None:
    found = assess("Wendi feeds 15 cups and then 25 cups, in all 15 + 25 = <<15+2", APPLES)
    assert found.signals["no_sums"] > 0


def test_why_it_is_stuck_is_said_in_words() -> None:
    found = assess(WRONG_SUM, APPLES)
    assert found.stuck
    assert found.reason == "a sum in it does not hold."


@pytest.mark.parametrize(
    ("response", "context", "signal"),
    [
        ("", None, "empty"),
        (" \n", None, "empty"),
        ("She has 12 apples, and then the", None, "truncated"),
        (NOT_CALCULATED, Context(stop="length"), "truncated"),
        (NOT_CALCULATED, Context(stop="content_filter"), "filtered"),
        ("So she has more apples now. " * 20, None, "loop"),
        ("I'm not sure how to solve this.", None, "gives_up"),
        ("She has apples.", None, "no_answer"),
    ],
)
def test_a_failed_hard_check_is_stuck_at_once(response: str, context: Context | None, signal: str) -> None:
    found = assess(response, APPLES, context)
    assert found.stuck
    assert found.at_once
    assert signal in found.signals
    assert found.quality < 0.6
    assert found.reason


@pytest.mark.parametrize(
    "prompt",
    [
        "My plan has three parts:\n1. trees\n2. benches\n3. a pond\nWhich of them matters most to you?",
        "In the last 5 years we built 12 parks. Do you like them?",
    ],
)
def test_a_turn_of_a_discussion_with_numbers_in_it_owes_no_number(prompt: str) -> None:
    assert not assess("The trees do, as they give shade to all of us in summer.", prompt).stuck


@pytest.mark.parametrize(("made", "stuck"), [(115, True), (105, False)])
def test_a_sum_that_does_not_hold_counts_in_a_talk_as_well(made: int, stuck: bool) -> None:
    found = assess(f"At five percent, 100 * 1.05 = {made} euros after a year.", "Please show me one example.")
    assert ("wrong_sums" in found.signals, found.stuck) == (stuck, stuck)


def test_what_a_reader_works_out_in_the_head_is_no_number_that_nobody_gave() -> None:
    prompt = "Four friends share a bill of 64.20 and add a tip of 10%. What does each pay?"
    answer = "With the tip it is 64.20 + 6.42 = 70.62, and 70.62 / 4 = 17.655, so each pays 17.66."
    assert not StuckDetector().assess(answer, prompt).stuck


@pytest.mark.parametrize(
    ("answer", "stuck"),
    [
        ("30% of 60 is 18, so it costs 42 euros.", False),
        ("30% of 60 is 20, so it costs 40 euros.", True),
        ("30 % von 60 sind 12, also kostet es 48 Euro.", True),
    ],
)
def test_a_sum_that_is_told_in_words_is_checked(answer: str, stuck: bool) -> None:
    assert StuckDetector().assess(answer, "A lamp of 60 euros is 30% off. What does it cost?").stuck == stuck


def test_a_choice_without_a_pick_is_stuck_and_one_with_a_pick_is_not() -> None:
    assert assess("All of them are planets of the sun.", CHOICE).stuck
    picked = assess("Jupiter is the largest planet of all. The answer is (B).", CHOICE)
    assert not picked.stuck
    assert picked.quality > assess("The closest one is not listed. The answer is (D).", CHOICE).quality


def test_a_sum_that_is_none_of_the_options_is_a_signal() -> None:
    prompt = "What is 12 times 12?\n(A) 124\n(B) 140\n(C) 144\n(D) 148"
    assert assess("12 * 12 = 150. The answer is (D).", prompt).signals["result_no_option"] == 1
    assert "result_no_option" not in assess("12 * 12 = 144. The answer is (C).", prompt).signals


@pytest.mark.parametrize(
    ("call", "signal"),
    [
        (calling("get_weather", town="Oslo", city="Oslo"), "unknown_parameter"),
        (calling("get_rain", city="Oslo"), "unknown_parameter"),
        (calling("get_weather", days=3), "missing_required"),
        (calling("get_weather", city="Oslo", days="three"), "wrong_type"),
        (calling("get_weather", city="Madrid", days=3), "value_from_nowhere"),
        (calling("get_weather", city="Oslo"), "named_but_left_out"),
        (calling("get_weather", city="Oslo"), "number_not_passed_on"),
        (calling("get_weather", city="<city>", days=3), "value_from_nowhere"),
    ],
)
def test_a_call_that_does_not_fit_is_named_and_costs_quality(call: Context, signal: str) -> None:
    good = assess("", ASKED, calling("get_weather", city="Oslo", days=3))
    found = assess("", ASKED, call)
    assert not good.stuck
    assert found.signals[signal] > 0
    assert found.quality < good.quality


def test_a_call_in_text_is_read_like_a_native_one() -> None:
    offered = Context(tools=(WEATHER, MAIL))
    assert not assess('[get_weather(city="Oslo", days=3)]', ASKED, offered).stuck
    assert assess("[get_weather(days=3)]", ASKED, offered).signals["missing_required"] == 1
    assert assess("['get_weather', {'city': 'Oslo'}]", ASKED, offered).quality < 0.7


def test_no_call_though_several_tools_are_offered_is_stuck_unless_tools_have_answered() -> None:
    answer = "It will be sunny in Oslo."
    assert assess(answer, ASKED, Context(tools=(WEATHER, MAIL))).stuck
    call = ToolCall("get_weather", {"city": "Oslo", "days": 3})
    steps = (Message("assistant", (call,)), Message("tool", (ToolResult(call, (Text("sunny"),)),)))
    assert not assess(answer, ASKED, Context(tools=(WEATHER, MAIL), steps=steps)).stuck


def test_refusing_is_no_failure_where_no_offered_tool_fits() -> None:
    refusal = "I'm sorry, but I can't do that with the tools at hand."
    assert assess(refusal, "Tell me a joke.", Context(tools=(WEATHER,))).at_once is False
    assert assess(refusal, "Tell me a joke.").at_once
    assert assess(refusal, ASKED, Context(tools=(WEATHER,))).at_once


@pytest.mark.parametrize(
    ("answer", "prompt", "stuck"),
    [
        ("I can't run commands.", "Rename foo to bar in utils.py.", True),
        ("I cannot look into your mailbox.", "Has the bank written?", True),
        ("As a language model I have no access to a mailbox.", "Has the bank written?", True),
        ("Please paste the mail so that I can read it.", "What does Bob want?", True),
        ("I can't delete mails.", "Delete all mails of Bob.", False),
        ("I can search the mailbox but I can't change it.", "Move Bob's letter to the archive.", False),
        ("I can't look into the mailbox without your consent. May I?", "Has the bank written?", False),
        ("No, I can't see your screen.", "Can you see my screen?", False),
        ("I haven't sent any mails.", "Have you sent any mails?", False),
        ("I can't order food, sorry.", "Order a pizza.", False),
    ],
)
def test_denied_access_is_a_failure_where_a_tool_has_it(answer: str, prompt: str, stuck: bool) -> None:
    shell = ToolSpec("bash", "Runs a command.", {"properties": {"command": {"type": "string"}}})
    inbox = ToolSpec("search_mails", "Searches the mailbox.", {"properties": {"query": {"type": "string"}}})
    assert assess(answer, prompt, Context(tools=(shell, inbox))).stuck is stuck


@pytest.mark.parametrize(
    "words", ["Let me check.", "I don't know yet, let me look.", "Sure! How can I help? Let me look.", "Here it is: ("]
)
def test_words_before_a_call_need_not_be_an_answer(words: str) -> None:
    calls = calling("get_weather", city="Oslo", days=3)
    assert not assess(words, "What will the weather be in Oslo for 3 days?", calls).stuck


def test_an_unfit_call_goes_back_to_the_model_once_and_then_is_stuck_at_once() -> None:
    bad = calling("get_weather", days=3)
    assert not assess("", ASKED, bad).at_once
    call = ToolCall("get_weather", {"days": 3})
    failed = (
        Message("assistant", (call,)),
        Message("tool", (ToolResult(call, (Text("city: required"),), is_error=True),)),
    )
    again = Context(tools=bad.tools, steps=(*failed, *bad.steps))
    assert assess("", ASKED, again).at_once


def test_calls_that_get_nowhere_cost_quality() -> None:
    call = ToolCall("get_weather", {"city": "Oslo"})
    round_ = (Message("assistant", (call,)), Message("tool", (ToolResult(call, (Text("timeout 5"),), is_error=True),)))
    found = assess("The weather is fine.", ASKED, Context(tools=(WEATHER,), steps=(*round_, *round_)))
    assert found.signals["call_repeated"] == found.signals["errors_in_a_row"] == found.signals["same_error_twice"] == 1
    assert found.stuck


@pytest.mark.parametrize(
    ("response", "prompt", "signal"),
    [
        ("```python\ndef f(x)\n    return x\n```", "Write a function that doubles a number.", "code_does_not_parse"),
        ("Gladly. It is easy to do.", "Write a function that doubles a number.", "no_code"),
        ("Name: Ann", "Return only valid JSON with the name.", "json_unreadable"),
    ],
)
def test_code_and_json_are_parsed(response: str, prompt: str, signal: str) -> None:
    assert assess(response, prompt).signals[signal] == 1
    assert assess(response, prompt).stuck


def test_json_has_to_fit_the_schema_that_was_asked_for() -> None:
    schema = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}
    request = ModelRequest((user("How old is Ann?"),), output_schema=schema)
    assert assess('{"name": "Ann"}', "How old is Ann?", request).signals["json_unfit"] == 1
    assert "json_unfit" not in assess('{"age": 7}', "How old is Ann?", request).signals


def test_saying_the_same_again_in_a_conversation_is_stuck() -> None:
    said = "I think that we should plant more trees in the park this spring."
    history = (user("What do you think?"), assistant(said), user("And what else?"))
    assert assess(said, "And what else?", Context(history=history)).stuck
    assert not assess(
        "The pond needs cleaning, and the paths want gravel.", "And what else?", Context(history=history)
    ).stuck


def test_a_short_answer_is_stuck_the_third_time_if_the_other_side_repeats_itself_too() -> None:
    welcome = assistant("You're welcome!")
    once = (user("Thanks again!"), welcome)
    assert not assess("You're welcome!", "Thanks again!", Context(history=once)).stuck
    assert assess("You're welcome!", "Thanks again!", Context(history=(*once, user("Bye!"), welcome))).stuck

    asked = [message for n in (2, 3, 5) for message in (user(f"Is {n} prime?"), assistant("Yes."))]
    request = ModelRequest((*asked, user("Is 7 prime?")))
    assert not assess("Yes.", "Is 7 prime?", request).stuck


def test_a_model_that_is_unsure_of_its_tokens_is_worth_less() -> None:
    sure, unsure = (assess(RIGHT, APPLES, Context(logprobs=(value,) * 40)).quality for value in (-0.01, -2.5))
    assert unsure < sure


def test_an_assessment_needs_no_context_beside_the_request_and_the_response() -> None:
    detector = StuckDetector()
    request = ModelRequest((user("Hello"), assistant("Hi"), user(APPLES)))
    assert detector.assess_response(request, ModelResponse(assistant(RIGHT))) == detector.assess(RIGHT, APPLES, request)


def test_the_same_answer_is_always_judged_the_same() -> None:
    assert assess(WRONG_SUM, APPLES) == assess(WRONG_SUM, APPLES)


def test_bare_is_stuck_counts_poor_answers_in_a_row() -> None:
    detector = StuckDetector(max_retries=3)
    assert [detector.is_stuck(WRONG_SUM, APPLES) for _ in range(3)] == [False, False, True]
    assert detector.retry_count == 0
    assert not detector.is_stuck(WRONG_SUM, APPLES)
    assert not detector.is_stuck(RIGHT, APPLES)
    assert detector.retry_count == 0


def test_a_hard_check_does_not_wait_for_the_count() -> None:
    detector = StuckDetector()
    assert detector.is_stuck("", APPLES)
    assert detector.is_stuck("I don't know how to do this.", APPLES)


def test_the_threshold_decides_what_is_poor() -> None:
    assert not StuckDetector(threshold=0.0).assess(WRONG_SUM, APPLES).stuck
    assert StuckDetector(threshold=1.0).assess(RIGHT, APPLES).stuck


def test_with_a_help_rate_the_expected_gain_decides_and_nothing_is_retried() -> None:
    rare, often = StuckDetector(help_rate=0.04), StuckDetector(help_rate=0.6)
    assert rare.max_retries == 1
    assert often.assess(NOT_CALCULATED, APPLES).stuck
    assert not rare.assess(NOT_CALCULATED, APPLES).stuck
    assert rare.assess(WRONG_SUM, APPLES).stuck, "little needs help more"
    assert not often.assess(RIGHT, APPLES).stuck


def test_with_a_calibration_its_cut_decides() -> None:
    gain = assess(WRONG_SUM, APPLES).gain
    assert StuckDetector(calibration=Calibration(gain)).assess(WRONG_SUM, APPLES).stuck
    assert not StuckDetector(calibration=Calibration(gain + 0.01)).assess(WRONG_SUM, APPLES).stuck


@pytest.mark.parametrize("options", [{"threshold": 1.2}, {"threshold": -0.1}, {"max_retries": 0}, {"help_rate": 2.0}])
def test_what_makes_no_sense_is_refused(options: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=next(iter(options))):
        StuckDetector(**options)  # type: ignore[arg-type]
