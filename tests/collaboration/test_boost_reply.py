"""What a planning model's reply is, in all the ways in which models write it, seen at the boost loop."""

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ai_battle import BoostLoop
from ai_battle.core.client import ModelClient
from ai_battle.core.events import Emit, TextDelta, ignore
from ai_battle.core.exchange import ModelRequest, ModelResponse, Usage
from ai_battle.core.helping import BoostStep
from ai_battle.core.messages import assistant, user
from tests.growing import IN_PROPORTION, growth

from .acting import HelpLog

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
USED = Usage(1, 1, cost_usd=0.0)


class Saying(ModelClient):
    """Says a text in pieces, and notes after each what listeners had heard of the answer by then."""

    def __init__(self, pieces: Sequence[str], heard: HelpLog | None = None) -> None:
        self.pieces, self.heard = pieces, heard
        self.settled = [""]
        self.requests: list[ModelRequest] = []

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        self.requests.append(request)
        for piece in self.pieces:
            await emit(TextDelta(piece))
            if self.heard:
                self.settled.append(self.heard.text)
        return ModelResponse(assistant("".join(self.pieces)), usage=USED)


@dataclass(frozen=True)
class Read:
    """What the loop made of a reply: its outcome, the answer or the plan, and what was streamed with each piece."""

    outcome: str
    text: str
    settled: Sequence[str] = ()


def read(*pieces: str) -> Read:
    boost, auxiliary = Saying(pieces, heard := HelpLog()), Saying(["Done."])
    answer = asyncio.run(BoostLoop(boost, auxiliary, 1).complete(ModelRequest((user("Well?"),)), heard))
    outcome = heard.of(BoostStep)[0].outcome
    if outcome == "guidance":
        note = auxiliary.requests[0].messages[-1].text
        return Read(outcome, note.partition("does not see it:\n\n")[2].rpartition("\n\nFollow")[0], boost.settled)
    said = answer.text if outcome == "summary" else "".join(pieces)
    return Read("summary" if outcome == "summary" else "other", said, boost.settled)


def plan(guidance: str, analysis: str = "") -> str:
    return (f"ANALYSIS:\n{analysis}\n\n" if analysis else "") + f"GUIDANCE:\n{guidance}"


def expectation(case: dict[str, Any]) -> tuple[str, str]:
    if "summary" in case:
        return "summary", str(case["summary"])
    if "guidance" in case:
        return "guidance", plan(case["guidance"], case.get("analysis", ""))
    return "other", case["reply"]


def cut(text: str, places: Sequence[int]) -> list[str]:
    ends = sorted({0, len(text), *(place % (len(text) + 1) for place in places)})
    return [text[start:end] for start, end in pairwise(ends)]


@pytest.mark.parametrize("pieces", [lambda reply: [reply], list], ids=["whole", "letter by letter"])
def test_written_out_replies_are_read(pieces: Callable[[str], list[str]]) -> None:
    found = {case["name"]: read(*pieces(case["reply"])) for case in CASES}
    expected = {case["name"]: expectation(case) for case in CASES}
    assert {name: (each.outcome, each.text) for name, each in found.items()} == expected


def test_there_are_many_written_out_replies_each_under_its_own_name() -> None:
    assert len(CASES) >= 120
    assert len({case["name"] for case in CASES}) == len(CASES)
    assert len({case["reply"] for case in CASES}) == len(CASES)


@given(soup, st.lists(st.integers(0, 10_000), max_size=30))
def test_however_a_reply_is_cut_it_is_the_same_and_what_was_settled_stays(text: str, places: list[int]) -> None:
    found, whole = read(*cut(text, places)), read(text)
    assert (found.outcome, found.text) == (whole.outcome, whole.text)
    assert found.outcome == "other" or found.text.strip()
    if settled := found.settled[-1]:
        assert found.outcome == "summary"
        assert found.text.startswith(settled)


@given(bodies, headings.filter(lambda h: h.upper().startswith(("ANA", "**ANA")) or "分析" in h), bodies)
def test_no_text_between_headings_is_lost(analysis: str, heading: str, guidance: str) -> None:
    found = read(f"before\n{heading}\n{analysis}\nGUIDANCE:\n{guidance}")
    assert (found.outcome, found.text) == ("guidance", plan(guidance.strip(), analysis.strip()))


@given(st.lists(st.tuples(headings, bodies), min_size=1, max_size=6))
def test_every_word_under_a_heading_is_in_some_section(sections: list[tuple[str, str]]) -> None:
    found = read("\n".join(f"{heading}\n{body}" for heading, body in [*sections, ("GUIDANCE:", "qqq")]))
    assert found.outcome == "guidance"
    assert all(line in found.text for _, body in sections for line in map(str.strip, body.strip().split("\n")))


@given(bodies, st.lists(st.integers(0, 10_000), max_size=20))
def test_a_summary_is_kept_to_the_letter(body: str, places: list[int]) -> None:
    found = read(*cut(f"SUMMARY:\n{body}", places))
    assert (found.outcome, found.text) == ("summary", body.strip())


def test_a_summary_is_settled_while_it_comes() -> None:
    lines = [f"Line {number} of a long answer, with some words in it.\n" for number in range(20)]
    settled = read("ANALYSIS: easy.\nSUMMARY:\n", *lines).settled

    assert len(set(settled)) >= 17, "all but the first lines come when they are there"
    assert settled[-1] == "".join(lines).strip()


def test_a_long_line_is_settled_before_its_end() -> None:
    assert len(read("SUMMARY: ", *(f"word{number} " for number in range(100))).settled[-1]) > 500


def test_nothing_of_guidance_is_settled() -> None:
    found = read("ANALYSIS:\n" + "a long thought. " * 100 + "\nGUIDANCE:\n" + "call it. " * 100)
    assert set(found.settled) == {""}


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    ["SUMMARY:\n", "# ", "*", "**SUMMARY", "1. ", "```\n", "(", " \n", "GUIDANCE: x\nANALYSIS: y\n", "a", "=",
     "<think>", "SUMMARY (", "[", "\t", "FORMAT 1 "],
)  # fmt: skip
def test_time_grows_with_the_length_alone(unit: str) -> None:
    assert growth(lambda size: read(unit * (size // len(unit))), 4_000) < IN_PROPORTION


@pytest.mark.slow
@pytest.mark.parametrize("text", ["SUMMARY:\n" + "word " * 500, "SUMMARY:\n" + "x" * 300 + " \n" * 1_250])
def test_time_grows_with_the_length_alone_letter_by_letter(text: str) -> None:
    def run(times: int) -> None:
        boost = Saying(text * times)
        asyncio.run(BoostLoop(boost, Saying(["Done."]), 1).complete(ModelRequest((user("Well?"),)), ignore))

    assert growth(run, 1) < IN_PROPORTION
