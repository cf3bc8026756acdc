"""What a planning model's reply is, in all the ways in which models write it."""

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ai_battle.collaboration._boost_reply import GuidanceReply, OtherReply, PlanReader, PlanReply, SummaryReply, parse
from tests.growing import IN_PROPORTION, growth

CASES: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parent / "data" / "boost_replies.yaml").read_text(encoding="utf-8")
)
PIECES = (
    "SUMMARY:", "**Summary:**", "## Guidance", "Instructions:", "ANALYSIS", "1. ", "FORMAT 2", "```", "~~~", "---",
    "===", "\n", "\r\n", "  ", "Call read_file.", "N/A", "<think>", "</think>", "总结\uff1a", "- ", ":", "[", "]", "#",
    "42", "x" * 130, "y" * 260, "\u0301", "(when", ")", "\u2028", "\x00",
    "<summary>", "</summary>", "<guidance>", "`SUMMARY:`", "SUMMARY: N/A", "- **GUIDANCE:**", "FORMAT 3 - OTHER:",
)  # fmt: skip
soup = st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=40).map("".join)
# Letters that are part of no heading, so that a section ends where the next one begins and nowhere else.
bodies = st.text(alphabet="qwxzQ QZ-*.,;\t\n", min_size=1, max_size=300).filter(lambda text: re.search("[a-z]", text))
headings = st.sampled_from(
    ["ANALYSIS:", "GUIDANCE:", "**ANALYSIS:**", "## Guidance", "Instructions:", "分析\uff1a", "Analyse :"]
)


def expected(case: dict[str, Any]) -> PlanReply:
    if "summary" in case:
        return SummaryReply(str(case["summary"]))
    if "guidance" in case:
        return GuidanceReply(case["guidance"], case.get("analysis", ""))
    return OtherReply(case["reply"])


def streamed(text: str, cuts: list[int]) -> tuple[str, PlanReply]:
    """What is settled while the text comes in pieces, and what it is in the end."""
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    reader, settled = PlanReader(), ""
    for start, end in pairwise(places):
        reader.feed(text[start:end])
        settled += reader.settled()
    return settled, reader.close()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_written_out_reply(case: dict[str, Any]) -> None:
    assert parse(case["reply"]) == expected(case)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_reply_that_comes_letter_by_letter_is_the_same(case: dict[str, Any]) -> None:
    text = case["reply"]
    assert streamed(text, list(range(len(text))))[1] == expected(case)


def test_there_are_many_written_out_replies_each_under_its_own_name() -> None:
    assert len(CASES) >= 120
    assert len({case["name"] for case in CASES}) == len(CASES)
    assert len({case["reply"] for case in CASES}) == len(CASES)


@given(soup)
def test_no_text_at_all_makes_it_fail(text: str) -> None:
    reply = parse(text)
    match reply:
        case SummaryReply(said) | GuidanceReply(said):
            assert said.strip()
        case OtherReply(said):
            assert said == text


@given(soup, st.lists(st.integers(0, 10_000), max_size=30))
def test_however_a_reply_is_cut_it_is_the_same_and_what_was_settled_stays(text: str, cuts: list[int]) -> None:
    settled, reply = streamed(text, cuts)
    assert reply == parse(text)
    if settled:
        assert isinstance(reply, SummaryReply)
        assert reply.text.startswith(settled)


@given(bodies, headings.filter(lambda h: h.upper().startswith(("ANA", "**ANA")) or "分析" in h), bodies)
def test_no_text_between_headings_is_lost(analysis: str, heading: str, guidance: str) -> None:
    reply = parse(f"before\n{heading}\n{analysis}\nGUIDANCE:\n{guidance}")
    assert reply == GuidanceReply(guidance.strip(), analysis.strip())


@given(st.lists(st.tuples(headings, bodies), min_size=1, max_size=6))
def test_every_word_under_a_heading_is_in_some_section(sections: list[tuple[str, str]]) -> None:
    text = "\n".join(f"{heading}\n{body}" for heading, body in [*sections, ("GUIDANCE:", "qqq")])
    reply = parse(text)
    assert isinstance(reply, GuidanceReply)
    kept = f"{reply.analysis}\n{reply.guidance}"
    assert all(line in kept for _, body in sections for line in map(str.strip, body.strip().split("\n")))


@given(bodies, st.lists(st.integers(0, 10_000), max_size=20))
def test_a_summary_is_kept_to_the_letter(body: str, cuts: list[int]) -> None:
    settled, reply = streamed(f"SUMMARY:\n{body}", cuts)
    assert reply == SummaryReply(body.strip())
    assert body.strip().startswith(settled)


def test_a_summary_is_settled_while_it_comes() -> None:
    reader = PlanReader()
    lines = [f"Line {number} of a long answer, with some words in it.\n" for number in range(20)]
    reader.feed("ANALYSIS: easy.\nSUMMARY:\n")
    shown = []
    for line in lines:
        reader.feed(line)
        shown.append(reader.settled())

    assert sum(map(bool, shown)) >= 17, "all but the first lines come when they are there"
    assert "".join(lines).strip() == "".join(shown)


def test_a_long_line_is_settled_before_its_end() -> None:
    reader = PlanReader()
    reader.feed("SUMMARY: ")
    shown = ""
    for number in range(100):
        reader.feed(f"word{number} ")
        shown += reader.settled()

    assert len(shown) > 500


def test_nothing_of_guidance_is_settled() -> None:
    reader = PlanReader()
    reader.feed("ANALYSIS:\n" + "a long thought. " * 100 + "\nGUIDANCE:\n" + "call it. " * 100)
    assert reader.settled() == ""


@pytest.mark.parametrize(
    "unit",
    ["SUMMARY:\n", "# ", "*", "**SUMMARY", "1. ", "```\n", "(", " \n", "GUIDANCE: x\nANALYSIS: y\n", "a", "=",
     "<think>", "SUMMARY (", "[", "\t", "FORMAT 1 "],
)  # fmt: skip
def test_time_grows_with_the_length_alone(unit: str) -> None:
    assert growth(lambda size: parse(unit * (size // len(unit))), 4_000) < IN_PROPORTION


@pytest.mark.parametrize("text", ["SUMMARY:\n" + "word " * 500, "SUMMARY:\n" + "x" * 300 + " \n" * 1_250])
def test_time_grows_with_the_length_alone_letter_by_letter(text: str) -> None:
    def read(times: int) -> None:
        reader = PlanReader()
        for letter in text * times:
            reader.feed(letter)
            reader.settled()
        reader.close()

    assert growth(read, 1) < IN_PROPORTION
