"""Steps of a model that works with tools: which of them bring something, and when the work stalls."""

from itertools import islice
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_battle.signals.progress import ToolStep, WorkRecord, tells_failure, why_no_progress
from research import stalls
from tests.growing import IN_PROPORTION, growth

LOOK = ToolStep("SELECT * FROM players", "[('Ann', 3), ('Bo', 5)]")
NO_TABLE = ToolStep("SELECT * FROM result", "Error executing query: Table 'poker.result' doesn't exist")
OTHER_TABLE = ToolStep("SELECT name FROM results", "Error executing query: Table 'poker.results' doesn't exist")
NO_COLUMN = ToolStep("SELECT nick FROM players", "Error executing query: Unknown column 'nick' in 'field list'")
EMPTY = ToolStep("SELECT 1 WHERE 0", "[]")
MENDED = ToolStep("edit plan.md", "ok")
FAILS = ToolStep("run tests", "1 failed, 9 passed in 0.42s")
TEXTS = st.text(max_size=60)
STEPS = st.lists(st.builds(ToolStep, TEXTS, TEXTS, st.booleans()), max_size=30)


@pytest.mark.parametrize(
    "result",
    ['{"error": "no such file"}', "Traceback (most recent call last):", "ValueError: x", "Error: y", "FATAL disk full"],
)
def test_a_result_that_reads_like_an_error_is_one(result: str) -> None:
    assert ToolStep("call", result).is_failure


@pytest.mark.parametrize(
    "result",
    ["", "[]", "{}", "None", "null", "[()]", "No results found.", "[(None,)]", "0 rows", '{"count": 0, "rows": []}',
     '{"result": "No rows match"}', "Empty set (0.00 sec)", "Nothing was found for this query.",
     "<html><script>loading</script></html>"],
)  # fmt: skip
def test_a_result_may_bring_nothing_without_being_an_error(result: str) -> None:
    assert not ToolStep("call", result).is_failure
    assert not ToolStep("call", result).has_news


@pytest.mark.parametrize(
    "result",
    ["0", "[(0,)]", "errors are rare here", "The answer", '{"error_rate": 0.1}', "no", '{"ok": true}', "no errors",
     "No, it is closed on Mondays.", "None of the shops is open"],
)  # fmt: skip
def test_a_result_that_says_something_is_neither(result: str) -> None:
    assert ToolStep("call", result).has_news


@pytest.mark.parametrize(
    ("steps", "trouble"),
    [
        ([LOOK, EMPTY], ""),
        ([LOOK, NO_TABLE, LOOK], "a call was repeated"),
        ([LOOK, ToolStep("select  *  from PLAYERS", "[('Cy', 9)]")], ""),
        ([NO_TABLE, OTHER_TABLE], "two calls in a row failed"),
        ([NO_TABLE, LOOK, OTHER_TABLE], "the same error came twice"),
        ([NO_TABLE, LOOK, ToolStep("DROP x", "Error: you may not")], ""),
        ([], ""),
    ],
)
def test_what_counts_as_trouble(steps: list[ToolStep], trouble: str) -> None:
    work = WorkRecord()
    for step in steps:
        work.add(step)
    assert work.trouble == trouble


@pytest.mark.parametrize(
    ("steps", "why"),
    [
        ([LOOK, LOOK, LOOK], ""),
        ([LOOK] * 4, "the last 3 calls brought nothing new: a call came again, with the same result"),
        ([NO_TABLE, NO_COLUMN, EMPTY], "the last 3 calls brought nothing new: a call failed, nothing was found"),
        ([NO_TABLE, NO_COLUMN, LOOK], ""),
        ([ToolStep("list", each) for each in ("[]", "No rows.", "null")], "the last 3 calls brought nothing new"),
        ([MENDED, FAILS, ToolStep("edit x", "ok"), FAILS], ""),
        ([FAILS, MENDED, FAILS, ToolStep("edit x", "ok"), FAILS], "the same call has failed in the same way 3 times"),
        ([FAILS, MENDED, ToolStep("run tests", "2 failed, 8 passed in 0.40s"), MENDED, FAILS], ""),
        ([ToolStep("state of job 7", "still running")] * 6, ""),
        ([ToolStep("state of job 7", "still running")] * 20, "the last 10 calls brought nothing new"),
        ([ToolStep(f"add row {n}", "ok") for n in range(9)], ""),
    ],
)
def test_work_stalls_when_three_steps_in_a_row_bring_nothing_or_a_call_fails_three_times_alike(
    steps: list[ToolStep], why: str
) -> None:
    assert why_no_progress(steps).startswith(why)
    assert bool(why_no_progress(steps)) == bool(why)


@pytest.mark.parametrize(
    "result",
    ["cat: docs: Is a directory", "Connection reset by peer", "Address already in use", "403: resource not accessible",
     "HTTP/1.1 502 Bad Gateway", "429: too many requests", "touch: Read-only file system", "checksum mismatch"],
)  # fmt: skip
def test_what_systems_say_of_failures_is_known(result: str) -> None:
    assert tells_failure(ToolStep("call", result))


@pytest.mark.parametrize("result", ["404 pages", "A bad day for sailing", "It exists", "The shop is busy", "200: ok"])
def test_what_only_sounds_like_a_failure_is_none(result: str) -> None:
    assert not tells_failure(ToolStep("call", result))


@pytest.mark.slow
def test_planted_stalls_are_found_within_two_steps_and_healthy_work_goes_on() -> None:
    for name, domains in stalls.read_domains():
        bad = [*islice(stalls.stalling_runs(domains, Random(3)), 200)]
        good = [*islice(stalls.healthy_runs(domains, Random(3)), 200)]
        assert sum(run.is_in_time for run in bad) >= 0.9 * len(bad), name
        assert sum(run.is_too_early for run in good) <= 0.03 * len(good), name


@given(STEPS)
def test_no_work_is_too_odd(steps: list[ToolStep]) -> None:
    assert isinstance(why_no_progress(steps), str)


@pytest.mark.slow
def test_time_grows_no_faster_than_the_texts_of_the_work() -> None:
    """Only the beginnings of texts are looked at."""

    def look(size: int) -> None:
        quotes = "'" * size + "{" * size + "x"
        why_no_progress([ToolStep(f"call {n} " + "x " * size, quotes) for n in range(100)])

    assert growth(look, 2_000) < IN_PROPORTION
