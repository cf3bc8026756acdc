"""Borda's count as the literature has it: who ranks, and what answers are called, is all one."""

from fractions import Fraction
from itertools import pairwise
from random import Random
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_battle.collaboration._ranking import ChairNote, pool, read_ranking, reading_order, split_answer

COUNT = st.integers(2, 6)
Election = tuple[list[int], list[tuple[int, ...]]]


@st.composite
def elections(draw: st.DrawFn) -> Election:
    """Answers by number, and rankings of all or of some."""
    numbers = list(range(1, draw(COUNT) + 1))
    ranking = st.permutations(numbers).flatmap(lambda order: st.integers(1, len(order)).map(lambda n: tuple(order[:n])))
    return numbers, draw(st.lists(ranking, max_size=6))


def points(numbers: list[int], rankings: list[tuple[int, ...]]) -> dict[int, tuple[int, Fraction | None]]:
    return {each.number: (each.rank, each.points) for each in pool(numbers, rankings)}


@given(elections(), st.randoms())
def test_who_ranked_how_is_all_one(election: Election, random: Random) -> None:
    numbers, rankings = election
    mixed = sorted(rankings, key=lambda _: random.random())
    assert points(numbers, mixed) == points(numbers, rankings)


@given(elections(), st.data())
def test_other_names_have_the_same_standings(election: Election, data: st.DataObject) -> None:
    numbers, rankings = election
    renamed = dict(zip(numbers, data.draw(st.permutations(numbers)), strict=True))
    others = points([renamed[number] for number in numbers], [tuple(map(renamed.__getitem__, one)) for one in rankings])
    assert {renamed[number]: stands for number, stands in points(numbers, rankings).items()} == others


@given(elections())
def test_a_ranking_and_its_reverse_leave_everything_tied(election: Election) -> None:
    numbers, _ = election
    both = [tuple(numbers), tuple(reversed(numbers))]
    assert set(points(numbers, both).values()) == {(1, Fraction(1, 2))}


@given(elections())
def test_equal_points_share_a_rank_and_more_points_are_before(
    election: Election,
) -> None:
    numbers, rankings = election
    standings = pool(numbers, rankings)
    for first, second in pairwise(standings):
        assert (first.rank == second.rank) == (first.points == second.points)
        assert first.rank <= second.rank
    assert all(each.points is None or 0 <= each.points <= 1 for each in standings)


@given(elections())
def test_first_for_all_is_first(election: Election) -> None:
    numbers, rankings = election
    best = numbers[-1]
    praised = [(best, *(number for number in one if number != best)) for one in rankings]
    assert pool(numbers, [*praised, (best, numbers[0])])[0].number == best


def test_a_reader_s_order_is_its_own_and_always_the_same() -> None:
    numbers = range(1, 9)
    assert reading_order("seed", "1", numbers) == reading_order("seed", "1", reversed(numbers))
    orders = {reading_order("seed", str(reader), numbers) for reader in range(10)}
    assert len(orders) == 10
    assert all(sorted(order) == [*numbers] for order in orders)


PIECES = st.sampled_from(
    ["A", "B", "C", " > ", ", ", "\n", "1. ", "2) ", "Answer ", "ranking", ":", '{"ranking": [', '"', "]}", "<think>",
     "</think>", "**", "USED", "LEFT OUT", "ANSWER", " - ", "because", "\u2028", " "]
)  # fmt: skip
WRITTEN = st.lists(PIECES, max_size=30).map("".join) | st.text(max_size=80)


@given(WRITTEN, st.integers(2, 4))
def test_whatever_a_judge_writes_is_an_order_of_all_or_none(written: str, count: int) -> None:
    assert read_ranking(written, count) == () or sorted(read_ranking(written, count)) == [*range(count)]


@given(WRITTEN)
def test_whatever_a_chair_writes_has_an_answer_or_none(written: str) -> None:
    found = split_answer(written, is_whole=True)
    if found:
        head, start = found
        assert written[start:].strip()
        note = ChairNote.of(head).among("AB")
        assert not {*note.used} & note.left_out.keys()
        assert {*note.used, *note.left_out} <= {*"AB"}


@pytest.mark.parametrize(
    "filling", ["\n", "A", "A > ", "1. A\n", "* ", "USED:\n", "ranking ", "{", "<think>", "A  ", "A , and"]
)
def test_long_texts_are_read_in_no_time(filling: str) -> None:
    written = f"USED: A\nLEFT OUT:{filling * (100_000 // len(filling))}"
    started = process_time()
    read_ranking(written, 3)
    if found := split_answer(f"{written[:7_900]}\nANSWER:\nYes.", is_whole=True):
        ChairNote.of(found[0])
    assert process_time() - started < 2


@pytest.mark.parametrize(
    ("note", "used", "left_out"),
    [
        ("USED: B\nLEFT OUT: A - it is wrong", "B", {"A": "it is wrong"}),
        ("**USED:** Answer B and Answer C\n**LEFT OUT:** none", "BC", {}),
        ("USED: B, with a word of C\nLEFT OUT:\n- A: it has\n  no source\n- D (it is a list)", "BC",
         {"A": "it has no source", "D": "it is a list)"}),
        ("USED: C\nLEFT OUT: A and B - both guess; nobody knows", "C",
         {"A": "both guess", "B": "both guess nobody knows"}),
        ("LEFT OUT: Answers A, B \u2013 they are brief", "", {"A": "they are brief", "B": "they are brief"}),
        ("USED: A\nLEFT OUT: A - twice\nB\nC -", "A", {}),
    ],
)  # fmt: skip
def test_a_chair_s_note_is_read(note: str, used: str, left_out: dict[str, str]) -> None:
    found = split_answer(f"{note}\nANSWER:\nYes.", is_whole=True)
    assert found
    read = ChairNote.of(found[0]).among("ABCD")
    assert ("".join(read.used), read.left_out) == (used, left_out)
