"""Exports for other programs, and that no view of a run grows with its length."""

import csv
import io
import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from ai_battle.conversation.reading import messages
from ai_battle.core.errors import ConfigError, JournalError
from ai_battle.reporting.exports import FORMATS, export, write_reports
from ai_battle.wire.genai import message_from_json

from .runs import EVENTS, HOSTILE, STEPS, write_run


async def exported_text(run_dir: Path, format_: str) -> str:
    return "".join(export(await write_run(run_dir), format_))


async def test_jsonl_has_every_message_without_loss(tmp_path: Path) -> None:
    lines = (await exported_text(tmp_path, "jsonl")).splitlines()
    prompt, first, *steps_and_second, third = [message_from_json(json.loads(line)) for line in lines]

    assert [prompt, first, steps_and_second[-1], third] == list(messages(tmp_path))
    assert tuple(steps_and_second[:-1]) == STEPS


async def test_openai_is_a_list_of_messages_that_the_api_takes(tmp_path: Path) -> None:
    prompt, first, called, returned, second, _ = json.loads(await exported_text(tmp_path, "openai"))

    assert prompt["content"][0]["image_url"] == {"url": "data:image/png;base64,iVBORw=="}
    assert (first["role"], first["content"]) == ("assistant", "Plain **words**, and `code`.")
    assert called["tool_calls"][0]["function"]["name"] == "web_search"
    assert (returned["role"], returned["tool_call_id"]) == ("tool", called["tool_calls"][0]["id"])
    assert second["content"] == HOSTILE


async def test_csv_has_a_row_for_every_turn(tmp_path: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(await exported_text(tmp_path, "csv"), newline="")))

    assert [row["turn"] for row in rows] == ["1", "2", "4"]
    assert (rows[0]["speaker"], rows[0]["output_tokens"], rows[0]["cost_usd"]) == ("ann", "200", "0.5")
    assert (rows[1]["text"], rows[1]["cost_usd"]) == (HOSTILE, "")


async def test_a_spreadsheet_does_not_run_what_a_model_wrote(tmp_path: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(await exported_text(tmp_path, "csv"), newline="")))
    assert rows[2]["text"].startswith("'=HYPERLINK(1)")


async def test_a_run_without_messages_is_an_empty_list(tmp_path: Path) -> None:
    assert json.loads("".join(export(await write_run(tmp_path, EVENTS[0]), "openai"))) == []


def test_an_unknown_format_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="There is no export format 'htm'; did you mean 'html'"):
        export(tmp_path, "htm")


def test_a_directory_without_a_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="is not a run directory"):
        write_reports(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("format_", FORMATS)
def test_what_is_no_run_is_exported_to_no_output(tmp_path: Path, format_: str) -> None:
    with pytest.raises(JournalError, match="is not a run directory"):
        next(iter(export(tmp_path, format_)))


@pytest.mark.slow
@pytest.mark.parametrize("format_", [each for each in FORMATS if each != "dpo"])
async def test_a_long_run_takes_no_more_memory_than_a_short_one(tmp_path: Path, format_: str) -> None:
    """4,000 turns of 2 KB, rendered in a process that may grow by 6 MB."""
    turn = EVENTS[4:5]
    path = (await write_run(tmp_path, EVENTS[0], *turn)) / "journal.jsonl"
    first, line = path.read_bytes().splitlines(keepends=True)
    long = line.replace(b"Plain", b"Plain " * 350)
    path.write_bytes(first + b"".join(long.replace(b'"seq":1,', b'"seq":%d,' % seq) for seq in range(1, 4_001)))

    script = """
        import resource, sys; from pathlib import Path
        from ai_battle.reporting.exports import export
        def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        before, size = peak(), sum(len(piece) for piece in export(Path(sys.argv[1]), sys.argv[2]))
        assert size > 8_000_000
        print(peak() - before)
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(tmp_path), format_]
    assert int(subprocess.check_output(command)) < 6_000 * (1024 if sys.platform == "darwin" else 1)  # noqa: ASYNC221
