"""The transcript: readable as it is and in every viewer, whatever models wrote."""

import json
from pathlib import Path

import pytest

from ai_battle.core.events import PromptGiven, RunResumed, RunStarted, TurnFinished
from ai_battle.core.messages import Message, Text, assistant
from ai_battle.reporting.exports import export

from .runs import ANN, EVENTS, write_run


@pytest.fixture
async def markdown(tmp_path: Path) -> str:
    return "".join(export(await write_run(tmp_path), "md"))


async def transcript_text(folder: Path, text: str) -> str:
    """Returns how a text of a model stands in the transcript."""
    finished = TurnFinished(1, 1, "ann", assistant(text, "ann"), ANN, "gpt-4o", 1.0)
    document = "".join(export(await write_run(folder, EVENTS[0], finished), "md"))
    return document.partition("## 1. ann\n\n")[2].partition("\n\n---\n")[0]


@pytest.mark.parametrize("form", ["md", "html"])
async def test_a_long_file_is_folded_so_that_the_turns_are_found(tmp_path: Path, form: str) -> None:
    file, goal = Text("figures.csv:\n\n" + "1,2,3\n" * 1_000), Text("What do they say?")
    prompt = PromptGiven(Message("user", (file, goal)))
    document = "".join(export(await write_run(tmp_path, EVENTS[0], prompt), form))
    folded, _, open_text = document.partition("<summary>figures.csv:")[2].partition("</details>")
    assert "1,2,3" in folded
    assert "1,2,3" not in open_text
    assert "What do they say?" in open_text


def test_it_says_who_said_what(markdown: str) -> None:
    assert markdown.startswith("# Discuss.\n\nRobots & &lt;b>names&lt;/b> · ")
    assert "## The prompt\n\n*[image/png, 4 bytes]*\n\nDiscuss.\n\n" in markdown
    assert "## 1. ann\n\nPlain **words**, and `code`.\n\n" in markdown
    assert "## 2. bob\n\n*cut off at the length limit, 2 attempts*\n\n" in markdown


def test_it_ends_with_what_it_cost(markdown: str) -> None:
    assert "| ann | gpt-4o | 1 | 1 min 01 s | 1,010 | 200 | $0.5000 |" in markdown
    assert "| bob | phi4 | 2 | 4.0 s | ≈ 6,000 | ≈ 200 | unknown |" in markdown
    assert "| *selecting, summarising, concluding* |  |  |  | 50 | 5 | $0 |" in markdown
    assert "| **all** |  | 3 | 0.0 s | ≈ 7,060 | ≈ 405 | unknown |" in markdown


async def test_its_time_is_that_of_its_processes_even_if_the_clock_is_set_back(tmp_path: Path) -> None:
    """The run stops after five seconds, goes on after an hour for two, and meanwhile the clock is set back."""
    run_dir = await write_run(tmp_path, *EVENTS[:2], RunResumed(1, 1), *EVENTS[2:5])
    times = ("10:00:00", "10:00:05", "11:00:00", "11:00:02", "09:30:00", "09:30:00")
    records = [json.loads(line) for line in (run_dir / "journal.jsonl").read_text().splitlines()]
    lines = [{**record, "time": f"2026-01-01T{time}+00:00"} for record, time in zip(records, times, strict=True)]
    (run_dir / "journal.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))

    assert " · 1 turn · 7.0 s · " in "".join(export(run_dir, "md"))


def test_tools_and_thoughts_are_folded(markdown: str) -> None:
    assert (
        "<details><summary>web_search(&lt;b>x&lt;/b>) -> &lt;/pre>&lt;script>alert(6)&lt;/script></summary>" in markdown
    )
    assert "```\n</pre><script>alert(6)</script>\n```" in markdown
    assert "<details><summary>thinking</summary>\n\n&lt;u>hm&lt;/u>\n\n</details>" in markdown


async def test_what_happened_beside_the_turns_is_told(markdown: str) -> None:
    assert "> bob: attempt 1 failed after 2 characters, which do not count: cut &lt;off>" in markdown
    assert "> The run ended: limit (cost_usd)." in markdown


@pytest.mark.parametrize(
    ("text", "stands_as"),
    [
        ("<script>x</script> but 1 < 2", "&lt;script>x&lt;/script> but 1 < 2"),
        ("use `<b>` for `List<int>`", "use `<b>` for `List<int>`"),
        ("`` <b> ` and \\`<i>\\`", "`` &lt;b> ` and \\`&lt;i>\\`"),
        ("stray ` here\nz ` <b> ` w\n\nnew `<b>`", "stray ` here\nz ` &lt;b> ` w\n\nnew `<b>`"),
        ("# Big\n### Smaller", "#### Big\n###### Smaller"),
        ("```python\n# a comment\nx < y", "```python\n# a comment\nx < y\n```"),
        ("~~~~\n```\n~~~~\n# after", "~~~~\n```\n~~~~\n#### after"),
        ("![x](https://example.org/?secret)", "!\\[x](https://example.org/?secret)"),
        ("[a](javascript:alert(1)) [b](https://example.org)", "[a\\](javascript:alert(1)) [b](https://example.org)"),
        ("[a]( JaVaScript:x) [b](java&#115;cript:x)", "[a\\]( JaVaScript:x) [b\\](java&#115;cript:x)"),
        (
            "[a](<data:text/html,x>) [b](vbscript:x) [c](\njavascript:x)",
            "[a\\](&lt;data:text/html,x>) [b\\](vbscript:x) [c\\](\njavascript:x)",
        ),
        ("[r]: javascript:x\n[a][r]", "[r\\]: javascript:x\n[a][r]"),
        (
            "[Ada]: I agree, see [notes](notes.md#top) and `x[0](javascript:1)`",
            "[Ada]: I agree, see [notes](notes.md#top) and `x[0](javascript:1)`",
        ),
        ("\x1b[31mred\x07", "␛[31mred␇"),
    ],
)
async def test_a_text_stays_in_its_place(tmp_path: Path, text: str, stands_as: str) -> None:
    """Its tags are text, its pictures are not fetched, its headings stay below ours, its fences end with it."""
    assert await transcript_text(tmp_path, text) == stands_as


async def test_names_can_not_break_the_table(tmp_path: Path) -> None:
    document = "".join(export(await write_run(tmp_path, RunStarted("x", "", {"a|b\n": "m"})), "md"))
    assert "| a\\|b | m | 0 |" in document
