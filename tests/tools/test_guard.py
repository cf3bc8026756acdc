"""The guard: what is run, what is answered from memory, and when a model goes in circles."""

from ai_battle.core.messages import Text, ToolCall, ToolResult
from ai_battle.tools.guard import Asked, Execute, Guard, Reject, Replay, Verdict
from ai_battle.tools.limits import RunnerLimits

MANY = RunnerLimits(max_rounds=100)


def reading(what: str) -> Asked:
    return Asked("read", f"read {what}")


def writing(what: str) -> Asked:
    return Asked("write", f"write {what}", writes=True)


def result(asked: Asked, text: str = "", *, is_error: bool = False) -> ToolResult:
    return ToolResult(ToolCall(asked.tool), (Text(text or asked.key),), is_error)


def played(guard: Guard, asked: Asked, text: str = "", *, is_error: bool = False) -> Verdict:
    verdict = guard.decide(asked)
    if isinstance(verdict, Execute):
        guard.learn(asked, result(asked, text, is_error=is_error))
    return verdict


def rounds(guard: Guard, *calls: Asked, text: str = "") -> list[bool]:
    """Whether the model is told of a circle, after each round of one call."""
    told = []
    for call in calls:
        played(guard, call, text)
        told.append(guard.end_round())
    return told


def test_an_equal_call_is_answered_from_memory() -> None:
    guard = Guard(MANY)
    assert played(guard, reading("a")) == Execute()
    assert played(guard, reading("a")) == Replay(result(reading("a")))


def test_what_was_read_is_read_again_after_something_was_written() -> None:
    guard = Guard(MANY)
    assert [played(guard, call) for call in (reading("a"), writing("b"), reading("a"))] == [Execute()] * 3


def test_a_write_is_repeated_only_after_another_one() -> None:
    guard = Guard(MANY)
    played(guard, writing("a"))
    assert isinstance(played(guard, writing("a")), Replay)
    played(guard, writing("b"))
    assert played(guard, writing("a")) == Execute()


def test_a_write_that_failed_may_have_written_all_the_same() -> None:
    guard = Guard(MANY)
    played(guard, reading("a"))
    played(guard, writing("b"), is_error=True)
    assert played(guard, reading("a")) == Execute()


def test_failures_are_not_remembered() -> None:
    guard = Guard(MANY)
    assert [played(guard, reading("a"), is_error=True) for _ in range(2)] == [Execute()] * 2


def test_a_tool_that_fails_three_times_running_is_taken_off_the_list() -> None:
    guard = Guard(MANY)
    for number in range(3):
        played(guard, reading(str(number)), is_error=True)
    assert guard.excluded == {"read"}
    assert isinstance(guard.decide(reading("a")), Reject)


def test_a_success_in_between_forgives_failures() -> None:
    guard = Guard(MANY)
    for number in range(6):
        played(guard, reading(str(number)), is_error=number % 2 == 0)
    assert not guard.excluded


def test_calls_that_do_not_fit_count_as_failures() -> None:
    guard = Guard(MANY)
    for _ in range(3):
        guard.refused("read", "read ?", unknown=False)
    assert guard.excluded == {"read"}


def test_a_round_of_nothing_but_repeated_calls_ends_the_loop() -> None:
    guard = Guard(MANY)
    rounds(guard, reading("a"), reading("a"))
    assert guard.ended == "the model asks again for what it was given"


def test_two_rounds_of_unknown_tools_end_the_loop() -> None:
    guard = Guard(MANY)
    for name in ("x", "y"):
        assert not guard.ended
        guard.refused(name, name, unknown=True)
        guard.end_round()
    assert guard.ended == "the model calls tools that there are not, or writes calls that can't be read"


def test_the_same_result_of_other_arguments_is_pointed_out_once_and_then_ends_the_loop() -> None:
    guard = Guard(MANY)
    assert rounds(guard, reading("a"), reading("b"), text="nothing") == [False, True]
    rounds(guard, reading("c"), text="nothing")
    assert guard.ended == "the model goes in a circle"


def test_what_several_calls_of_one_round_find_alike_is_no_circle() -> None:
    guard = Guard(MANY)
    for what in "abc":
        played(guard, reading(what), "nothing")
    assert not guard.end_round()


def test_writes_may_well_return_the_same() -> None:
    guard = Guard(MANY)
    assert rounds(guard, writing("a"), writing("b"), writing("c"), text="ok") == [False] * 3
    assert not guard.ended


def test_two_writes_in_turns_are_pointed_out_once_and_then_end_the_loop() -> None:
    guard = Guard(MANY)
    a, b = writing("a"), writing("b")
    assert rounds(guard, a, b, a, b) == [False, False, False, True]
    rounds(guard, a)
    assert guard.ended == "the model goes in a circle"


def test_an_edit_may_be_tested_as_often_as_there_are_edits() -> None:
    guard = Guard(MANY)
    test = reading("test")
    edits = [call for number in range(5) for call in (writing(str(number)), test)]
    for number, call in enumerate(edits):
        assert played(guard, call, f"result {number}") == Execute()
        assert not guard.end_round()
    assert not guard.ended


def test_rounds_calls_and_seconds_have_limits() -> None:
    in_rounds, in_calls = Guard(RunnerLimits(max_rounds=2)), Guard(RunnerLimits(calls=1))
    in_seconds = Guard(RunnerLimits(seconds=1))
    rounds(in_rounds, reading("a"), reading("b"))
    played(in_calls, reading("a"))
    assert isinstance(in_calls.decide(reading("b")), Reject)
    assert isinstance(in_seconds.decide(reading("a"), seconds=1.5), Reject)
    assert in_rounds.ended == "2 of 2 rounds are used up"
    assert in_calls.ended == "1 calls were made, which is the limit of one answer"
    assert in_seconds.ended == "the 1 s for the tools of one answer are used up"


def test_without_chaining_there_is_one_round() -> None:
    guard = Guard(RunnerLimits(allow_chaining=False))
    rounds(guard, reading("a"))
    assert guard.ended


def test_the_pauses_grow_and_have_an_end() -> None:
    limits = RunnerLimits(backoff_seconds=0.1)
    assert [limits.pause_before(number) for number in (1, 2, 3, 4, 1000)] == [0, 0.1, 0.2, 0.4, 5.0]
