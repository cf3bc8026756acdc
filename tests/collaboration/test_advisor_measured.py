"""What is said of the advisor is measured on 200 agent tasks, and can be measured again."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ai_battle.judging.unfinished import unfinished_work
from ai_battle.testing import FakeProviders
from research.advisor import Measurement, Row
from research.agents import FOLDER, LATER, UNSEEN, read_tasks
from research.unfinished import rows_of_others, rows_of_tasks

pytestmark = pytest.mark.slow  # each figure is counted from 200 tasks

TASKS = read_tasks()


@pytest.fixture
async def measurement() -> AsyncIterator[Measurement]:
    async with FakeProviders() as fakes:
        made = Measurement(fakes)
        yield made
        await made.aclose()


def test_there_are_200_tasks_and_none_is_asked_twice() -> None:
    assert len({task.prompt for task in TASKS}) == len(TASKS) == 200
    assert all(task.evidence or not task.wrong for task in TASKS if task.goes_wrong)


async def test_alone_a_worker_fails_in_the_tasks_that_go_wrong_and_in_no_other(measurement: Measurement) -> None:
    done = [await measurement.do_alone(task) for task in TASKS]

    assert [each != task.answer for each, task in zip(done, TASKS, strict=True)] == [each.goes_wrong for each in TASKS]


@pytest.mark.parametrize("worker", ["never asks", "always asks", "asks, ignores"])
async def test_each_entry_of_the_ledger_is_what_the_provider_charged(measurement: Measurement, worker: str) -> None:
    row = Row(worker, await measurement.do_all(TASKS[::7], worker, None))

    assert row.gap < 1e-12
    assert sum(each.large_usd for each in row.done) > 0


@pytest.mark.parametrize(("folder", "count", "in_time", "disturbed"), [(UNSEEN, 50, 0.75, 1), (LATER, 90, 0.5, 5)])
async def test_tasks_that_nothing_was_tuned_to_are_met_less_often(
    measurement: Measurement, folder: Path, count: int, in_time: float, disturbed: int
) -> None:
    tasks = read_tasks(folder)
    row = Row("never asks", await measurement.do_all(tasks, "never asks", None))

    assert len(tasks) == count
    assert row.in_time >= in_time
    assert row.disturbed <= disturbed


def test_of_a_hundred_right_answers_one_is_doubted() -> None:
    right = [row for row in (*rows_of_tasks(FOLDER), *rows_of_others(())) if not row.is_wrong]

    assert len(right) > 300
    assert sum(bool(unfinished_work(row.end())) for row in right) <= len(right) / 100


@pytest.mark.parametrize(
    ("worker", "help_rate", "solved", "in_time"),
    [
        ("never asks", None, 191, 0.95),
        ("always asks", None, 200, 1.0),
        ("asks first", None, 200, 1.0),
        ("asks well", None, 197, 1.0),
        ("never asks", 0.2, 191, 0.95),
    ],
)
async def test_advice_brings_no_less_than_it_did(
    measurement: Measurement, worker: str, help_rate: float | None, solved: int, in_time: float
) -> None:
    row = Row(worker, await measurement.do_all(TASKS, worker, help_rate))

    assert row.solved >= solved
    assert row.in_time >= in_time
