"""Each clock ends what it watches, names itself, and costs nothing while all is well."""

import asyncio

import pytest

from ai_battle.core.errors import Unreachable
from ai_battle.providers import Deadlines, Stalled
from ai_battle.providers._deadlines import Clocks, ending


async def run(deadlines: Deadlines, *pauses: float) -> None:
    """Content comes after each of the pauses."""
    async with Clocks(deadlines, "fake at here") as clocks:
        for pause in pauses:
            await asyncio.sleep(pause)
            clocks.mark_content()


async def test_what_is_in_time_is_left_alone() -> None:
    await run(Deadlines(first_byte=10, idle=0.25, total=10), 0.3, 0.1, 0.1, 0.1)


async def test_nothing_but_the_first_byte_clock_counts_before_the_first_content() -> None:
    with pytest.raises(Stalled, match=r"fake at here: nothing came within 0.05 s \(the first-byte clock\)"):
        await run(Deadlines(first_byte=0.05, idle=10, total=10), 1)
    await run(Deadlines(idle=0.01, total=10), 0.05)


async def test_silence_amid_the_answer_ends_it() -> None:
    with pytest.raises(Stalled, match=r"silent for 0.05 s amid the answer \(the idle clock\)") as told:
        await run(Deadlines(idle=0.05, total=10), 0, 0.02, 1)
    assert told.value.again == "always"


async def test_the_total_clock_ends_a_drip_and_is_not_asked_again() -> None:
    with pytest.raises(Unreachable, match=r"no complete answer within 0.3 s \(the total clock\)") as told:
        await run(Deadlines(idle=0.25, total=0.3), *[0.05] * 20)
    assert told.value.again == "never"


async def test_there_is_time_left_to_ask_again_where_only_the_total_is_given() -> None:
    with pytest.raises(Stalled, match=r"nothing came within 0\.075 s"):
        await run(Deadlines(total=0.1), 1)
    with pytest.raises(Stalled, match=r"silent for 0\.05 s amid the answer"):
        await run(Deadlines(total=0.1), 0, 1)


async def test_an_outer_deadline_holds_inside() -> None:
    loop = asyncio.get_running_loop()

    with ending(loop.time() + 0.05), pytest.raises(Unreachable, match="total clock"):
        await run(Deadlines(total=10), 1)
    await run(Deadlines(total=10), 0.1)


async def test_cancelling_is_not_taken_for_a_clock() -> None:
    task = asyncio.create_task(run(Deadlines(), 10))
    await asyncio.sleep(0)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


async def test_another_timeout_inside_is_not_taken_for_a_clock() -> None:
    async with Clocks(Deadlines(), "fake"):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await asyncio.sleep(1)


async def test_content_costs_no_timer() -> None:
    async with Clocks(Deadlines(), "fake") as clocks:
        clocks.mark_content()
        before = timers()
        for _ in range(1_000):
            clocks.mark_content()
        assert timers() == before


async def test_calls_that_end_in_time_leave_no_timers_behind() -> None:
    before = timers()

    for _ in range(50):
        async with Clocks(Deadlines(), "fake") as clocks:
            clocks.mark_content()

    assert timers() <= before + 1


async def test_a_deadline_that_is_nearer_than_all_others_is_met_in_time() -> None:
    async with Clocks(Deadlines(), "far"):
        with pytest.raises(Unreachable, match=r"near: nothing came within 0\.05 s"):
            async with Clocks(Deadlines(first_byte=0.05), "near"), asyncio.timeout(30):
                await asyncio.sleep(60)


def timers() -> int:
    """Those that this event loop still holds, of which it tells nothing in public."""
    return len(asyncio.get_running_loop()._scheduled)  # type: ignore[attr-defined]
