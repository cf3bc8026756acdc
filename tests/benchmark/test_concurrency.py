"""How many calls a provider gets at once."""

import asyncio

import pytest

from ai_battle.benchmark.clients import ConcurrencyLimit


async def enter(lane: ConcurrencyLimit, number: int) -> list[int]:
    """The numbers of that many calls that are under way."""
    return [await lane.enter() for _ in range(number)]


async def test_no_more_run_than_the_lane_is_wide() -> None:
    lane, most, running = ConcurrencyLimit(3), 0, 0

    async def call() -> None:
        nonlocal most, running
        await lane.enter()
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        lane.leave()

    await asyncio.gather(*(call() for _ in range(20)))
    assert most == 3


async def test_a_lane_is_halved_once_for_calls_that_were_under_way_together() -> None:
    lane = ConcurrencyLimit(16)
    for number in await enter(lane, 10):
        lane.slow_down(number)
    assert lane.width == 8

    lane.leave()
    lane.leave()
    lane.leave()
    lane.slow_down(await lane.enter())
    assert lane.width == 4


async def test_a_lane_never_closes_and_widens_by_one_with_each_round_of_answers() -> None:
    lane = ConcurrencyLimit(4)
    for _ in range(8):
        lane.slow_down(await lane.enter())
        lane.leave()
    assert lane.width == 1

    for _ in range(40):
        lane.widen()
    assert lane.width == 4


async def test_a_call_that_is_given_up_while_it_waits_leaves_its_place_to_the_next() -> None:
    lane = ConcurrencyLimit(1)
    await lane.enter()
    given_up, patient = (asyncio.create_task(lane.enter()) for _ in range(2))
    await asyncio.sleep(0)
    lane.leave()
    given_up.cancel()
    with pytest.raises(asyncio.CancelledError):
        await given_up
    assert await asyncio.wait_for(patient, 30) == 2
