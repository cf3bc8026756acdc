"""What a user sees of a run, on a terminal and in a pipe."""

import asyncio
import io
import re
import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from ai_battle.cli.live import LiveView, PlainLines, StreamedText, ViewOptions, view
from ai_battle.cli.screen import Wrapping
from ai_battle.config.loading import load
from ai_battle.core.events import (
    AttemptFailed,
    DraftDelta,
    Event,
    ModelReplied,
    PromptGiven,
    Retrying,
    RunFinished,
    RunResumed,
    RunStarted,
    TextDelta,
    ThinkingDelta,
    TurnFailed,
    TurnFinished,
    TurnStarted,
)
from ai_battle.core.exchange import NOTHING_USED, Usage
from ai_battle.core.messages import Image, Message, Text, Thinking, ToolCall, ToolResult, assistant
from ai_battle.core.texts import one_line, printable
from ai_battle.core.tooling import FabricationSuspected, LoopStopped, ToolCalled, ToolReturned
from ai_battle.reporting.figures import clock, cost

STATUS_LINE = re.compile(r"(?:\x1bD\x1b\[A)?\x1b7.*?\x1b8", re.DOTALL)
ESCAPES = re.compile(r"\x1b(?:[78D]|\[[0-9;]*[A-Za-z])")


def finished_turn(text: str, stop: str = "end") -> TurnFinished:
    return TurnFinished(1, 1, "Ann", assistant(text, "Ann"), NOTHING_USED, "phi4", 0.1, stop=stop)  # type: ignore[arg-type]


async def scrolled_text(*events: Event) -> str:
    """Returns what went by above the status line, without escape sequences."""
    return ESCAPES.sub("", STATUS_LINE.sub("", await output_of(*events)))


async def shown_text(*events: Event) -> str:
    """All that was shown, without escape sequences."""
    return ESCAPES.sub("", await output_of(*events))


async def output_of(*events: Event) -> str:
    out = io.StringIO()
    live = LiveView(out, ViewOptions(turns=3))
    for event in (RunStarted("robots", "", {"Ann": "ollama/phi4"}), TurnStarted(1, 1, "Ann"), *events):
        await live(event)
    live.close()
    return out.getvalue()


@given(st.text())
def test_no_control_character_of_a_model_reaches_the_terminal(text: str) -> None:
    assert not [c for c in printable(text) if unicodedata.category(c) == "Cc" and c not in "\n\t"]


def test_an_escape_sequence_is_shown_and_not_obeyed() -> None:
    assert printable("a\x1b[2Jb\x9b31mc\u202ed\r\n") == "a␛[2Jb\ufffd31mc\ufffdd\n"


@given(st.text(), st.integers(1, 40))
def test_a_remark_stays_on_its_line(text: str, width: int) -> None:
    assert len(one_line(text, width)) <= width
    assert "\n" not in one_line(text, width)


async def test_text_appears_as_it_streams_under_the_name_and_model_of_its_speaker() -> None:
    assert "Ann ollama/phi4\nHello there" in await scrolled_text(TextDelta("Hello "), TextDelta("there"))


async def test_an_answer_that_was_not_streamed_is_shown_once_it_is_there() -> None:
    assert (await shown_text(finished_turn("All at once"))).count("All at once") == 1


async def test_a_streamed_answer_is_not_said_twice() -> None:
    assert (await shown_text(TextDelta("Just once"), finished_turn("Just once"))).count("Just once") == 1


async def test_a_failed_attempt_and_the_wait_after_it_are_told() -> None:
    seen = await shown_text(
        TextDelta("half of"),
        AttemptFailed("phi4", 1, "connection reset", 0.2, partial="half of"),
        Retrying("phi4", 1, 2, ""),
    )
    assert "attempt 1 failed after 7 characters, which do not count: connection reset" in " ".join(seen.split())
    assert "waiting 2.0 s for phi4" in seen
    assert "after 1 character, which" in await shown_text(AttemptFailed("phi4", 1, "cut", 0.2, partial="h"))


async def test_a_turn_without_an_answer_says_why_and_what_follows() -> None:
    assert "Ann gave no answer (the turn was skipped): no route" in await shown_text(
        TurnFailed(1, 1, "Ann", "no route", "skip")
    )


async def test_the_reason_of_a_failure_is_told_once_and_what_came_of_it_after_that() -> None:
    failed = AttemptFailed("phi4", 2, "no route", 0.2)
    for make in (LiveView, PlainLines):
        out = io.StringIO()
        await send_to(make(out, ViewOptions()), failed, TurnFailed(1, 1, "Ann", "no route (2 attempts)", "skip"))
        seen = out.getvalue()
        assert seen.count("no route") == 1
        assert "attempt 2 failed: no route" in seen
        assert "Ann gave no answer (the turn was skipped): 2 attempts" in seen


async def test_another_reason_than_that_of_the_last_attempt_is_told_as_well() -> None:
    seen = await output_of(AttemptFailed("phi4", 1, "no route", 0.2), TurnFailed(1, 1, "Ann", "too late", "stop"))
    assert "Ann gave no answer (the run stopped): too late" in seen


async def test_an_answer_that_was_cut_is_marked() -> None:
    assert "! cut off at the length limit" in await shown_text(finished_turn("and then", stop="length"))
    assert "! stopped by the provider's content filter" in await shown_text(
        finished_turn("and then", stop="content_filter")
    )


async def test_the_status_line_tells_turn_tokens_cost_and_time() -> None:
    seen = await shown_text(ModelReplied("phi4", Usage(1200, 345, cost_usd=0.0123), 1.0), finished_turn("x"))
    assert re.search(r"turn 1 of 3 · 1200 in, 345 out · \$0\.0123 · 0:0\d · Ann answers", seen)


async def test_the_status_line_of_a_resumed_run_begins_with_its_turn_and_what_it_had_spent() -> None:
    live = LiveView(out := io.StringIO(), ViewOptions(turns=3, spent=Usage(1000, 300, cost_usd=0.5)))
    reply = ModelReplied("phi4", Usage(200, 45, cost_usd=0.25), 1.0)
    for event in (RunResumed(2, 1, participants={"Ann": "ollama/phi4"}), reply, finished_turn("x")):
        await live(event)
    live.close()
    assert "turn 2 of 3 · 1200 in, 345 out · $0.75" in out.getvalue()


async def test_the_status_line_is_as_wide_as_the_terminal_whatever_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wide character takes two cells; one too many would scroll the last row away."""
    monkeypatch.setenv("COLUMNS", "75")
    bars = re.findall(r"\x1b\[7m(.*?)\x1b\[0m", await output_of(DraftDelta("漢字" * 30), finished_turn("x")))

    assert {cell_len(bar) for bar in bars} == {75}


async def test_remarks_are_broken_between_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    seen = await scrolled_text(AttemptFailed("phi4", 1, "the server said that it has no room for any more calls", 0.2))

    assert [line.rstrip() for line in seen.splitlines()[-3:]] == [
        "✗ phi4: attempt 1 failed: the server",
        "said that it has no room for any more",
        "calls",
    ]


async def test_the_status_line_marks_what_is_estimated() -> None:
    told, guessed = ModelReplied("phi4", Usage(1200, 345), 1.0), ModelReplied("phi4", Usage(10, 5), 1.0, estimated=True)

    assert "≈" not in await shown_text(told, finished_turn("x"))
    assert "≈ 1210 in, 350 out" in await shown_text(told, guessed, finished_turn("x"))


async def test_a_cost_that_nobody_knows_is_called_unknown_and_never_zero() -> None:
    assert "cost unknown" in await shown_text(ModelReplied("x", Usage(10, 10), 1.0), finished_turn("x"))
    assert (cost(None), cost(0.0), cost(0.00004), cost(12.3)) == (
        "cost unknown",
        "$0",
        "$0.000040",
        "$12.30",
    )


async def test_the_end_gives_the_terminal_back() -> None:
    out = io.StringIO()
    live = LiveView(out, ViewOptions())
    await live(RunStarted("robots", "", {}))
    await live(TurnStarted(1, 1, "Ann"))
    await live(RunFinished("done", "turns", 1, NOTHING_USED))
    assert "\x1b[r" in out.getvalue()


async def test_a_pipe_gets_plain_lines_of_finished_turns() -> None:
    out = io.StringIO()
    lines = view(out)
    assert isinstance(lines, PlainLines)
    for event in (TextDelta("no"), TurnStarted(1, 1, "Ann"), finished_turn("Hel\x1blo")):
        await lines(event)
    assert out.getvalue() == "[1] Ann: Hel␛lo\n"


async def test_a_person_who_says_nothing_is_no_failure() -> None:
    for make in (LiveView, PlainLines):
        out = io.StringIO()
        begun = RunStarted("talk", "", {"You": "person", "Ann": "phi4"})
        await send_to(make(out, ViewOptions()), begun, TurnFailed(1, 1, "You", "You let the turn pass.", "skip"))
        assert "You let the turn pass." in out.getvalue()
        assert "✗" not in out.getvalue()


def test_durations_read_like_a_clock() -> None:
    assert [clock(seconds) for seconds in (0.4, 75, 3_725)] == ["0:00", "1:15", "1:02:05"]


@given(st.lists(st.sampled_from(["a", "word", "otherword", "漢字", "\n"])), st.integers(1, 9), st.integers(12, 40))
def test_streamed_text_is_broken_between_words_and_loses_nothing(words: list[str], size: int, columns: int) -> None:
    text = " ".join(words)
    wrapping = Wrapping(lambda: columns)

    written = "".join(wrapping.feed(text[at : at + size]) for at in range(0, len(text), size)) + wrapping.flush()

    assert written.split() == text.split()
    assert not [line for line in written.split("\n") if cell_len(line) > columns]


def test_a_word_in_two_deltas_is_not_torn() -> None:
    wrapping = Wrapping(lambda: 10)
    assert wrapping.feed("one two thr") + wrapping.feed("ee four") + wrapping.flush() == "one two \nthree four"


HAPPENED: dict[str, Event] = {
    "timeout": AttemptFailed("phi4", 1, "silent for 60 s (the idle clock)", 60.0, timed_out=True),
    "retry": Retrying("phi4", 1, 2, ""),
    "error": AttemptFailed("phi4", 2, "the server failed", 0.1),
    "always": TurnFailed(1, 1, "Ann", "no route", "skip"),
}


@given(st.sets(st.sampled_from(["timeout", "retry", "error"])))
def test_what_notify_on_does_not_ask_for_is_not_shown(notify_on: set[str]) -> None:
    """On a terminal and in a pipe; a turn without an answer is shown whatever it says."""
    look = ViewOptions(notify_on=notify_on)
    for make in (LiveView, PlainLines):
        out = io.StringIO()
        text_view = make(out, look)
        asyncio.run(send_to(text_view, *HAPPENED.values()))
        shown = {
            "timeout": "idle clock" in out.getvalue(),
            "retry": "waiting" in out.getvalue(),
            "error": "the server failed" in out.getvalue(),
            "always": "no route" in out.getvalue(),
        }
        assert {name for name, seen in shown.items() if seen} == {*notify_on, "always"}


async def send_to(listener: LiveView | PlainLines, *events: Event) -> None:
    for event in events:
        await listener(event)
    listener.close()


@pytest.mark.parametrize(
    ("written", "expected"), [({}, {"timeout", "retry", "error"}), ({"notify_on": ["retry"]}, {"retry"})]
)
def test_all_of_it_is_shown_unless_the_file_says_otherwise(written: dict[str, object], expected: set[str]) -> None:
    models = {name: {"type": "scripted", "script": ["Hm."]} for name in ("Ann", "Bob")}
    loaded = load({"discussion": {"goal": "Talk.", "models": models, "timeouts": written}})
    assert {*ViewOptions.of(loaded).notify_on} == expected


async def test_a_call_of_a_tool_and_its_result_are_one_folded_line_each() -> None:
    call = ToolCall("search", {"query": "robots\nand gardens", "most": 3})
    result = ToolResult(call, (Text('{"found": "' + "x" * 500 + '"}'),))
    seen = await scrolled_text(ToolCalled(call), ToolReturned(result, 0.25))
    lines = [line for line in seen.splitlines() if line.startswith(("→", "←"))]
    assert lines[0] == "→ search(query=robots and gardens, most=3)"
    assert re.fullmatch(r'← \{"found": "x{50,70}… \(0\.2 ', lines[1])


async def test_results_of_calls_at_the_same_time_say_whose_they_are() -> None:
    calls = [ToolCall("clock", {}, "1"), ToolCall("search", {}, "2")]
    results = [ToolReturned(ToolResult(call, (Text('{"result": 1}'),)), 0.0) for call in calls]
    seen = await scrolled_text(*map(ToolCalled, calls), *results)
    lines = [line for line in seen.splitlines() if line.startswith("←")]
    assert lines == ["← 1 (0.0 s) from clock", "← 1 (0.0 s)"]


async def test_a_tool_that_failed_and_a_loop_that_was_stopped_show() -> None:
    failed = ToolResult(ToolCall("search"), (Text('{"error": "no \\u001b[2J network"}'),), is_error=True)
    seen = await scrolled_text(
        ToolReturned(failed, 0.0), LoopStopped("3 of 3 rounds are used up"), FabricationSuspected("It is 4.")
    )
    assert "✗ search failed: no" in seen
    assert "! no more tools for this answer: 3 of 3 rounds are used up" in seen
    assert "! The answer seems to report a result that no tool returned: It is 4." in seen


@pytest.mark.parametrize("seen", [PlainLines, LiveView])
async def test_of_a_long_file_the_beginning_opens_the_discussion_and_the_question_is_whole(seen: type) -> None:
    out = io.StringIO()
    shown = seen(out, ViewOptions(colour=False))
    pieces = (Text("page " * 4_000), Text("plan.png:\n"), Image("image/png", b"12345"), Text("How long is it?"))
    await shown(PromptGiven(Message("user", pieces)))
    shown.close()

    said = ESCAPES.sub("", out.getvalue())
    assert "[... 19,000 more characters]" in said
    assert said.count("page") == 200
    assert "plan.png:\n[image/png, 5 bytes]" in said
    assert said.rstrip().endswith("How long is it?")


async def test_where_there_is_no_cursor_the_text_comes_as_it_is_said() -> None:
    """As in a notebook."""
    out = io.StringIO()
    text_view = StreamedText(out, ViewOptions())
    await text_view(RunStarted("robots", "", {"Ann": "phi4"}))
    await text_view(TurnStarted(1, 1, "Ann"))
    await text_view(TextDelta("It"))
    on_the_way = out.getvalue()
    for event in (TextDelta(" is\x1b."), finished_turn("It is."), TurnStarted(2, 1, "Bob"), finished_turn("At once.")):
        await text_view(event)

    assert on_the_way == "robots: Ann (phi4)\n\nAnn: It"
    assert out.getvalue() == "robots: Ann (phi4)\n\nAnn: It is␛.\n\nBob: At once.\n"


async def test_tokens_and_dollars_move_while_a_model_speaks_and_settle_when_it_is_booked() -> None:
    out = io.StringIO()
    live = LiveView(out, ViewOptions(turns=3, output_price=lambda model: 0.001))
    for event in (RunStarted("robots", "", {"Ann": "ollama/phi4"}), TurnStarted(1, 1, "Ann"), TextDelta("word " * 40)):
        await live(event)
    live.pause("waits")
    live.go_on()
    moving = ESCAPES.sub("", out.getvalue())
    await live(ModelReplied("phi4", Usage(1200, 45, cost_usd=0.0123), 1.0))
    await live(finished_turn("word " * 40))
    live.close()

    (written,) = {match[1] for match in re.finditer(r"≈ 0 in, (\d+) out · \$0\.0\d+", moving)}
    assert 30 < int(written) < 90
    assert "1200 in, 45 out · $0.0123" in ESCAPES.sub("", out.getvalue())


async def test_reasoning_that_is_shown_has_lines_of_its_own() -> None:
    streamed, plain = io.StringIO(), io.StringIO()
    live, lines = LiveView(streamed, ViewOptions(turns=3, verbose=True)), PlainLines(plain, ViewOptions(verbose=True))
    finished = finished_turn("Yes.")
    thinking = replace(finished.message, parts=(Thinking("Is it?\n"), *finished.message.parts))
    for event in (RunStarted("robots", "", {"Ann": "ollama/phi4"}), TurnStarted(1, 1, "Ann"), ThinkingDelta("Is it?")):
        await live(event)
    await live(TextDelta("Yes."))
    await lines(replace(finished, message=thinking))
    live.close()

    assert re.search(r"Is it\?\s*\n[^\n]*Yes\.", ESCAPES.sub("", streamed.getvalue()))
    assert plain.getvalue() == "[thinking] Ann: Is it?\n[1] Ann: Yes.\n"


async def test_while_a_model_thinks_a_sign_turns_and_seconds_count() -> None:
    out = io.StringIO()
    live = LiveView(out, ViewOptions(turns=3))
    for event in (RunStarted("robots", "", {"Ann": "ollama/phi4"}), TurnStarted(1, 1, "Ann")):
        await live(event)
    await asyncio.sleep(0)
    thinking = ESCAPES.sub("", out.getvalue())
    await live(TextDelta("It is."))
    out.truncate(0)
    live.pause("waits")
    live.go_on()
    speaking = ESCAPES.sub("", out.getvalue())
    live.close()

    assert re.search("[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] Ann answers, 0 s", thinking)
    assert " · Ann answers " in speaking


async def test_the_colours_of_speakers_are_legible_on_white_and_on_black() -> None:
    """By the contrast ratio of WCAG 2, at least 4 to both, for as many speakers as there are colours."""
    out = io.StringIO()
    live = LiveView(out, ViewOptions())
    await live(RunStarted("robots", "", {f"P{number}": "m" for number in range(6)}))
    for number in range(6):
        await live(TurnStarted(number + 1, 1, f"P{number}"))
    live.close()
    colours = {int(number) for number in re.findall(r"\x1b\[38;5;(\d+)m", out.getvalue())}

    assert len(colours) == 6
    for luminance in map(relative_luminance, colours):
        assert (luminance + 0.05) / 0.05 >= 4
        assert 1.05 / (luminance + 0.05) >= 4


def relative_luminance(number: int) -> float:
    """That of one of the 216 colours of the cube that terminals have."""
    steps = [0, 95, 135, 175, 215, 255]
    rest = number - 16
    parts = [steps[rest // 36] / 255, steps[rest // 6 % 6] / 255, steps[rest % 6] / 255]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
