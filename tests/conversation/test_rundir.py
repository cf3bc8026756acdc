"""The run directory: where it is made, what is refused, and how a changed configuration is noticed."""

import os
import re
from pathlib import Path

import pytest

from ai_battle.conversation.journal import Journal, create_run_dir
from ai_battle.conversation.reading import Progress, progress
from ai_battle.conversation.resuming import check_unchanged
from ai_battle.conversation.setup import config_settings
from ai_battle.core.errors import ConfigError, JournalError
from ai_battle.core.events import RunResumed, RunStarted

CONFIG = "discussion:\n  goal: agree\n  turns: 3\n"


def test_a_run_gets_a_directory_of_its_own_even_within_the_same_second(tmp_path: Path) -> None:
    made = [create_run_dir("robot arms/v2", runs=tmp_path / "runs") for _ in range(3)]

    assert len(set(made)) == 3
    for run_dir in made:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ-robot-arms-v2(-[0-9a-f]+)?", run_dir.name)
        assert os.listdir(run_dir) == []


def test_out_names_the_directory(tmp_path: Path) -> None:
    assert create_run_dir("x", tmp_path / "a" / "b") == tmp_path / "a" / "b"
    assert create_run_dir("x", tmp_path / "a" / "b") == tmp_path / "a" / "b", "an empty one may be there already"

    (tmp_path / "a" / "b" / ".lock").write_text("")
    assert create_run_dir("x", tmp_path / "a" / "b") == tmp_path / "a" / "b", "what a kill left before the first event"


def test_a_directory_that_is_not_empty_is_refused_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ConfigError, match=r"exists and is not empty; name another directory\.$"):
        create_run_dir("x", tmp_path)

    (tmp_path / "journal.jsonl").write_text("")
    with pytest.raises(ConfigError, match=r"or go on with its run: ai-battle resume "):
        create_run_dir("x", tmp_path)


def test_a_file_in_the_place_of_a_directory_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="file is a file; name a directory with --out"):
        create_run_dir("x", tmp_path / "file")
    with pytest.raises(JournalError, match="can't be written: Not a directory; name a directory"):
        create_run_dir("x", tmp_path / "file" / "below")


async def start(run_dir: Path) -> Progress:
    create_run_dir("x", run_dir)
    journal = Journal.create(run_dir, config=CONFIG)
    await journal(RunStarted("x", str(run_dir), {}, config_settings(CONFIG)))
    await journal.close()
    return progress(run_dir)


async def test_an_unchanged_configuration_needs_nothing(tmp_path: Path) -> None:
    assert check_unchanged(await start(tmp_path)) == {}


async def test_a_changed_configuration_is_refused_with_a_diff(tmp_path: Path) -> None:
    found = await start(tmp_path)
    (tmp_path / "config.yaml").write_text(CONFIG.replace("3", "30"))

    with pytest.raises(ConfigError, match=r"(?s)yaml has changed .* --accept-changes\n.*-  turns: 3\n\+  turns: 30"):
        check_unchanged(found)


async def test_an_accepted_change_is_recorded_so_that_it_is_asked_for_once(tmp_path: Path) -> None:
    found = await start(tmp_path)
    (tmp_path / "config.yaml").write_text(CONFIG.replace("3", "30"))

    journal = Journal.reopen(tmp_path)
    await journal(RunResumed(0, 1, check_unchanged(found, accept_changes=True)))
    await journal.close()
    assert check_unchanged(progress(tmp_path)) == {}


async def test_a_configuration_that_is_gone_is_named(tmp_path: Path) -> None:
    found = await start(tmp_path)
    (tmp_path / "config.yaml").unlink()
    with pytest.raises(ConfigError, match=r"config\.yaml is gone; put it back"):
        check_unchanged(found)


async def test_a_run_without_a_file_has_nothing_to_compare(tmp_path: Path) -> None:
    """Such as one that was put together in Python."""
    assert check_unchanged(Progress(tmp_path)) == {}
