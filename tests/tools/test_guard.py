"""The guard: what is run, what is answered from memory, and when a model goes in circles."""

from typing import Any

from ai_battle.core.messages import Text, ToolCall, ToolResult
from ai_battle.tools.calls import CallGuard, PlannedCall, RunnerLimits

MANY = RunnerLimits(max_rounds=100)


def planned(tool: str, what: str, *, writes: bool = False, **refused: Any) -> PlannedCall:
    return PlannedCall(ToolCall(tool), f"{tool} {what}", writes=writes, **refused)


def reading(what: str) -> PlannedCall:
    return planned("read", what)


def writing(what: str) -> PlannedCall:
    return planned("write", what, writes=True)


def result(call: PlannedCall, text: str = "", *, is_error: bool = False) -> ToolResult:
    return ToolResult(call.call, (Text(text or call.key),), is_error)


def played(guard: CallGuard, call: PlannedCall, text: str = "", *, is_error: bool = False) -> str:
    """What became of it: "run", the text of a result from memory, or "refused"."""
    settled = guard.result_without_running(call)
    if settled is None:
        guard.learn(call, result(call, text, is_error=is_error))
        return "run"
    return "refused" if settled.is_error else settled.text


def rounds(guard: CallGuard, *calls: PlannedCall, text: str = "") -> list[bool]:
    """Whether the model is told of a circle, after each round of one call."""
    told = []
    for call in calls:
        played(guard, call, text)
        told.append(guard.end_round())
    return told


def test_an_equal_call_is_answered_from_memory() -> None:
    guard = CallGuard(MANY)
    assert played(guard, reading("a")) == "run"
    assert played(guard, reading("a")) == "read a"


def test_what_was_read_is_read_again_after_something_was_written() -> None:
    guard = CallGuard(MANY)
    assert [played(guard, call) for call in (reading("a"), writing("b"), reading("a"))] == ["run"] * 3


def test_a_write_is_repeated_only_after_another_one() -> None:
    guard = CallGuard(MANY)
    played(guard, writing("a"))
    assert played(guard, writing("a")) == "write a"
    played(guard, writing("b"))
    assert played(guard, writing("a")) == "run"


def test_a_write_that_failed_may_have_written_all_the_same() -> None:
    guard = CallGuard(MANY)
    played(guard, reading("a"))
    played(guard, writing("b"), is_error=True)
    assert played(guard, reading("a")) == "run"


def test_failures_are_not_remembered() -> None:
    guard = CallGuard(MANY)
    assert [played(guard, reading("a"), is_error=True) for _ in range(2)] == ["run"] * 2


def test_a_tool_that_fails_three_times_running_is_taken_off_the_list() -> None:
    guard = CallGuard(MANY)
    for number in range(3):
        played(guard, reading(str(number)), is_error=True)
    assert guard.excluded == {"read"}
    assert played(guard, reading("a")) == "refused"


def test_a_success_in_between_forgives_failures() -> None:
    guard = CallGuard(MANY)
    for number in range(6):
        played(guard, reading(str(number)), is_error=number % 2 == 0)
    assert not guard.excluded


def test_calls_that_do_not_fit_count_as_failures() -> None:
    guard = CallGuard(MANY)
    for _ in range(3):
        guard.result_without_running(planned("read", "?", problem="It does not fit."))
    assert guard.excluded == {"read"}


def test_a_round_of_nothing_but_repeated_calls_ends_the_loop() -> None:
    guard = CallGuard(MANY)
    rounds(guard, reading("a"), reading("a"))
    assert guard.ended == "the model asks again for what it was given"


def test_two_rounds_of_unknown_tools_end_the_loop() -> None:
    guard = CallGuard(MANY)
    for name in ("x", "y"):
        assert not guard.ended
        guard.result_without_running(planned(name, "?", problem="No such tool.", is_unknown=True))
        guard.end_round()
    assert guard.ended == "the model calls tools that there are not, or writes calls that can't be read"


def test_the_same_result_of_other_arguments_is_pointed_out_once_and_then_ends_the_loop() -> None:
    guard = CallGuard(MANY)
    assert rounds(guard, reading("a"), reading("b"), text="nothing") == [False, True]
    rounds(guard, reading("c"), text="nothing")
    assert guard.ended == "the model goes in a circle"


def test_what_several_calls_of_one_round_find_alike_is_no_circle() -> None:
    guard = CallGuard(MANY)
    for what in "abc":
        played(guard, reading(what), "nothing")
    assert not guard.end_round()


def test_writes_may_well_return_the_same() -> None:
    guard = CallGuard(MANY)
    assert rounds(guard, writing("a"), writing("b"), writing("c"), text="ok") == [False] * 3
    assert not guard.ended


def test_two_writes_in_turns_are_pointed_out_once_and_then_end_the_loop() -> None:
    guard = CallGuard(MANY)
    a, b = writing("a"), writing("b")
    assert rounds(guard, a, b, a, b) == [False, False, False, True]
    rounds(guard, a)
    assert guard.ended == "the model goes in a circle"


def test_an_edit_may_be_tested_as_often_as_there_are_edits() -> None:
    guard = CallGuard(MANY)
    test = reading("test")
    edits = [call for number in range(5) for call in (writing(str(number)), test)]
    for number, call in enumerate(edits):
        assert played(guard, call, f"result {number}") == "run"
        assert not guard.end_round()
    assert not guard.ended


def test_rounds_and_calls_have_limits() -> None:
    in_rounds, in_calls = CallGuard(RunnerLimits(max_rounds=2)), CallGuard(RunnerLimits(calls=1))
    rounds(in_rounds, reading("a"), reading("b"))
    played(in_calls, reading("a"))
    assert played(in_calls, reading("b")) == "refused"
    assert in_rounds.ended == "2 of 2 rounds are used up"
    assert in_calls.ended == "1 calls were made, which is the limit of one answer"


def test_without_chaining_there_is_one_round() -> None:
    guard = CallGuard(RunnerLimits(allow_chaining=False))
    rounds(guard, reading("a"))
    assert guard.ended


def test_the_pauses_grow_and_have_an_end() -> None:
    limits = RunnerLimits(backoff_seconds=0.1)
    assert [limits.pause_before(number) for number in (1, 2, 3, 4, 1000)] == [0, 0.1, 0.2, 0.4, 5.0]
