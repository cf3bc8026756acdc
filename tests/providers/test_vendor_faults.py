"""Whatever the servers of the vendors are documented or known to send is survived, or told with its way out."""

import pytest

from .vendor_bodies import ALL
from .vendor_faults import check_answers, check_errors, check_retries


@pytest.mark.slow
@pytest.mark.parametrize("wire", ALL)
async def test_a_fault_that_stays_is_told_with_its_way_out(wire: str) -> None:
    """The error names the provider and the model, and never the key; nothing is asked more often than it helps."""
    assert not [wrong for wrong in await check_errors(wire) if wrong]


@pytest.mark.slow
@pytest.mark.parametrize("wire", ALL)
async def test_a_fault_that_passes_costs_no_turn(wire: str) -> None:
    assert not [wrong for wrong in await check_retries(wire) if wrong]


@pytest.mark.parametrize("wire", ALL)
async def test_an_untidy_answer_is_read_and_never_owes_less_than_nothing(wire: str) -> None:
    assert not [wrong for wrong in await check_answers(wire) if wrong]
