"""Helping is told in sentences that a person can take in at a glance; the journal has the rest."""

from pathlib import Path

import pytest

from ai_battle.cli.remarks import Remarks
from ai_battle.conversation.help_account import HelpAccount
from ai_battle.core.events import ModelReplied
from ai_battle.core.exchange import Usage
from ai_battle.core.helping import AnswersCompared, DraftDropped, HelpAsked, HelpSummed, Role, StuckFound
from ai_battle.reporting.exports import export
from ai_battle.reporting.sentences import sentence

from .runs import write_run

STUCK = StuckFound(0.3, 0.58, "a sum in it does not hold.", {"wrong_sums": 1.0, "length": 0.69}, speaker="Small")
SPENT = Usage(10, 5)


def test_a_stuck_answer_is_told_with_its_reason_and_without_all_measures() -> None:
    assert sentence(STUCK) == "Small is stuck: a sum in it does not hold (quality 0.30, gain 0.58)"


def test_why_help_is_asked_for_is_told_once() -> None:
    remarks = Remarks()
    lines = [remarks.line(event) for event in (STUCK, HelpAsked("rescue", STUCK.reason, "history", speaker="Small"))]

    assert lines[1] == "◇ Small gets help by rescue, shown the history"


async def test_why_help_is_asked_for_is_told_once_in_a_report_as_well(tmp_path: Path) -> None:
    other = HelpAsked("council", "no two agree", "history", speaker="Small")
    asked = HelpAsked("rescue", STUCK.reason, "history", speaker="Small")
    await write_run(tmp_path, STUCK, asked, other, asked)

    lines = [line for line in "".join(export(tmp_path, "md")).splitlines() if line.startswith("> Small gets")]
    assert lines == [
        "> Small gets help by rescue, shown the history",
        "> Small gets help by council, shown the history: no two agree",
        "> Small gets help by rescue, shown the history",
    ]


def test_a_peer_that_answers_in_each_turn_is_not_told_as_help() -> None:
    asked = HelpAsked("council", "a second opinion to compare with", "prompt", speaker="Small", role="peer")

    assert sentence(asked) == "A peer is asked the same for Small, shown the prompt"


@pytest.mark.parametrize(
    ("after", "words"),
    [(0.2, "no better answer: quality 0.30 before, 0.20 after"),
     (0.4, "no answer that passes every check: quality 0.30 before, 0.40 after")],
)  # fmt: skip
def test_why_the_answer_with_help_is_not_taken_is_told_also_where_it_is_rated_higher(after: float, words: str) -> None:
    compared = AnswersCompared(0.3, after, is_replaced=False, speaker="Small")
    assert sentence(compared) == f"Help brought Small {words}"


def test_another_reason_is_told_as_well() -> None:
    remarks = Remarks()
    remarks.line(STUCK)

    line = remarks.line(HelpAsked("council", "no two agree", "history", speaker="Small"))
    assert line == "◇ Small gets help by council, shown the history: no two agree"


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (DraftDropped("", SPENT, speaker="Small"), "A draft of Small is dropped"),
        (DraftDropped("", SPENT, "peer", speaker="Small"), "The peer's answer for Small is dropped"),
        (
            DraftDropped("", SPENT, saved_tokens=30, speaker="Small"),
            "A draft of Small is dropped; about 30 tokens saved",
        ),
    ],
)
def test_whose_answer_is_dropped_is_told(event: DraftDropped, words: str) -> None:
    assert sentence(event) == words


def test_the_cost_of_help_is_marked_if_a_part_of_it_is_estimated() -> None:
    cut = {"role": "wasted", "estimated": True}
    assert sentence(HelpSummed(1, 0, 0.0018, 0.0017, rows=[cut])).startswith("Helped 0 of 1 turn, ≈ $0.0018; ")
    assert sentence(HelpSummed(1, 0, 0.0018, 0.0017)).startswith("Helped 0 of 1 turn, $0.0018; ")


def test_what_no_answer_was_made_of_is_one_row_for_a_participant() -> None:
    help_ = HelpAccount()
    roles: tuple[Role, ...] = ("own", "peer")
    for role in roles:
        help_.apply(ModelReplied("phi4", SPENT, 0.1, speaker="Small", role=role))
        help_.apply(DraftDropped("", SPENT, role, speaker="Small"))

    summed = help_.total()
    assert summed
    (row,) = summed.rows
    assert (row["role"], row["calls"], row["input_tokens"], row["output_tokens"]) == ("wasted", 2, 20, 10)
