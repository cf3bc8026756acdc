"""Markdown of a model on a terminal: shown as what it means, while it streams."""

import io
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ai_battle.cli.live import LiveView, ViewOptions
from ai_battle.core.events import RunStarted, TextDelta, TurnFinished, TurnStarted
from ai_battle.core.exchange import NOTHING_USED
from ai_battle.core.messages import assistant

STATUS_LINE = re.compile(r"(?:\x1bD\x1b\[A)?\x1b7.*?\x1b8", re.DOTALL)
SGR = re.compile(r"\x1b\[[0-9;]*m")
BOLD, CODE, HEADING, DIM, PLAIN = "\x1b[1m", "\x1b[38;5;30m", "\x1b[1;4m", "\x1b[2m", "\x1b[0m"


async def shown_text(*pieces: str, colour: bool = True) -> str:
    """Returns what stands under the head of a turn in which these pieces come."""
    out = io.StringIO()
    live = LiveView(out, ViewOptions(turns=1, colour=colour))
    await live(RunStarted("talk", "", {"Ann": "m"}))
    await live(TurnStarted(1, 1, "Ann"))
    for piece in pieces:
        await live(TextDelta(piece))
    await live(TurnFinished(1, 1, "Ann", assistant("".join(pieces), "Ann"), NOTHING_USED, "m", 0.1))
    live.close()
    text = STATUS_LINE.sub("", out.getvalue())
    return text.partition("m\x1b[0m\n" if colour else "Ann m\n")[2].rstrip("\n")


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("# Rain\nfalls", f"{HEADING}Rain{PLAIN}\nfalls"),
        ("the **first** point", f"the {BOLD}first{PLAIN} point"),
        ("say `x**2` now", f"say {CODE}x**2{PLAIN} now"),
        ("- one\n  * two", "• one\n  • two"),
        ("> so he said", f"{DIM}│ so he said{PLAIN}"),
        ("```python\n# no heading\n- 1\n```\nout", f"{DIM}```python{PLAIN}\n{CODE}# no heading{PLAIN}\n"
         f"{CODE}- 1{PLAIN}\n{DIM}```{PLAIN}\nout"),
        ("```\nif x:\n    y\n\ttab", f"{DIM}```{PLAIN}\n{CODE}if x:{PLAIN}\n{CODE}    y{PLAIN}\n{CODE}\ttab{PLAIN}"),
        ("2**3 and 2 ** 3", "2**3 and 2 ** 3"),
        ("**open\nnext", f"{BOLD}open{PLAIN}\nnext"),
        ("#hashtag -1 *", "#hashtag -1 *"),
    ],
)  # fmt: skip
async def test_marks_become_what_they_mean(written: str, expected: str) -> None:
    assert await shown_text(written) == expected


@given(st.lists(st.sampled_from(["**", "*", "`", "```", "\n", "# ", "- ", "> ", "a", "word ", "漢", " "]), max_size=30))
@example(["# ", " ", " "])
async def test_however_it_is_cut_into_pieces_it_looks_the_same_and_keeps_its_words(pieces: list[str]) -> None:
    text = "".join(pieces)
    whole, cut, letters = await shown_text(text), await shown_text(*pieces), await shown_text(*text)

    assert whole == cut == letters
    assert re.findall(r"\w", SGR.sub("", whole)) == re.findall(r"\w", text)


async def test_what_an_answer_leaves_open_does_not_reach_into_the_next() -> None:
    out = io.StringIO()
    live = LiveView(out, ViewOptions(turns=1, colour=True))
    await live(RunStarted("talk", "", {"Ann": "m"}))
    for number, text in enumerate(("```\nnever **closed", "# Rain\n**falls**"), 1):
        await live(TurnStarted(number, 1, "Ann"))
        await live(TextDelta(text))
        await live(TurnFinished(number, 1, "Ann", assistant(text, "Ann"), NOTHING_USED, "m", 0.1))
    live.close()

    assert f"{HEADING}Rain{PLAIN}\n{BOLD}falls{PLAIN}" in STATUS_LINE.sub("", out.getvalue())


async def test_without_colours_it_stays_as_it_is_written() -> None:
    assert await shown_text("# Rain\n**falls**", colour=False) == "# Rain\n**falls**"


async def test_a_line_is_broken_by_what_is_seen_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")

    assert SGR.sub("", await shown_text("**one** **two** **three** four")) == "one two three four"
