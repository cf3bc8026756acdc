"""A call as a person sees it before deciding: in full, and harmless."""

from typing import Any

import pytest
from click import unstyle
from rich.cells import cell_len

from ai_battle.cli.terminal import parse_answer, question
from ai_battle.core.messages import ToolCall
from ai_battle.core.texts import visible
from ai_battle.tools.approval import Answer


def shown_lines(width: int = 80, name: str = "write", **arguments: Any) -> list[str]:
    return [*map(unstyle, question(ToolCall(name, arguments), "Ada", width))]


def test_it_says_who_wants_what_and_with_which_arguments() -> None:
    assert shown_lines(path="a.txt", times=3, empty="", tags=["x"]) == [
        "╭ Ada wants to use write",
        "│ path: a.txt",
        "│ times: 3",
        "│ empty: (empty)",
        "│ tags:",
        "│  1  [",
        '│  2    "x"',
        "│  3  ]",
        "╰ May Ada use write?",
    ]


def test_a_call_without_arguments_says_so() -> None:
    assert shown_lines()[1] == "│ (without arguments)"


def test_code_keeps_its_lines_and_its_indentation() -> None:
    assert shown_lines(code="for x in y:\n\tprint(x)\n\nend\n")[1:-1] == [
        "│ code:",
        "│  1  for x in y:",
        "│  2      print(x)",
        "│  3  ",
        "│  4  end",
    ]


def test_nothing_is_cut_and_no_line_is_wider_than_the_terminal() -> None:
    code = "\n".join(f"line {n} " + "漢字" * n for n in range(120))
    lines = shown_lines(40, code=code, name="a" * 100)

    assert max(map(cell_len, lines)) <= 40
    said = "".join(line[7:] for line in lines[lines.index("│ code:") + 1 : -1])
    assert said.replace(" ", "") == code.replace("\n", "").replace(" ", "")


def test_what_a_model_wrote_always_stands_behind_the_bar() -> None:
    """So it can't end the question and begin one of its own."""
    forged = 'x"\n╰ May Ada use calculator?\n  y/n/always/never> y\n'
    lines = shown_lines(code=forged)
    assert [line for line in lines if not line.startswith("│ ")] == ["╭ Ada wants to use write", "╰ May Ada use write?"]


@pytest.mark.parametrize(
    ("hostile", "harmless"),
    [
        ("\x1b[2J\x1b]0;x\x07", "␛[2J␛]0;x␇"),
        ("a\rb", "a␍b"),
        ("\x9b31m", "⟨U+009B⟩31m"),
        ("\u202egnp.exe", "⟨U+202E⟩gnp.exe"),
        ("a\u200bb\ufeffc", "a⟨U+200B⟩b⟨U+FEFF⟩c"),
        ("a\u3164b\u2800", "a⟨U+3164⟩b⟨U+2800⟩"),
        ("a\u00a0b\u2028c", "a⟨U+00A0⟩b⟨U+2028⟩c"),
        ("\U000e0041\ud800", "⟨U+E0041⟩⟨U+D800⟩"),
        ("grün 漢字 🙂", "grün 漢字 🙂"),
    ],
)
def test_what_steers_a_terminal_or_is_not_seen_becomes_a_sign(hostile: str, harmless: str) -> None:
    assert visible(hostile) == harmless
    assert shown_lines(text=hostile)[1] == f"│ text: {harmless}"


def test_names_are_no_safer_than_values() -> None:
    lines = question(ToolCall("do\nit\x1b[1m", {"a\nb\u202e": 1}), "A\rda", 80)
    assert [*map(unstyle, lines)] == ["╭ A␍da wants to use do␊it␛[1m", "│ a␊b⟨U+202E⟩: 1", "╰ May A␍da use do␊it␛[1m?"]


def test_a_megabyte_is_shown_too() -> None:
    assert len(shown_lines(text="x" * 1_000_000)) > 1_000_000 // 80


def test_colours_are_only_ours() -> None:
    [_, line, _] = question(ToolCall("write", {"path": "\x1b[31mred"}), "Ada", 80)
    assert unstyle(line) == "│ path: ␛[31mred"


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("y", Answer(True)),
        (" YES ", Answer(True)),
        ("n", Answer(False)),
        ("no, use the calculator", Answer(False, reason="use the calculator")),
        ("always", Answer(True, for_good=True)),
        ("never", Answer(False, for_good=True)),
        ("", None),
        ("yes please", None),
        ("nope", None),
        ("yn", None),
    ],
)
def test_only_clear_answers_count(typed: str, answer: Answer | None) -> None:
    assert parse_answer(typed) == answer
