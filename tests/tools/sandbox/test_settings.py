"""Of the machine's settings a program sees what it can't do without, and never keys."""

from pathlib import Path

import pytest

from ai_battle.tools.sandbox.backends import git_settings


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[user]\n\temail = owl@example.org\n", True),
        ('[credential "https://example.org"]\n\thelper = store\n', True),
        ('[url "https://owl:hoo@example.org/"]\n\tinsteadOf = https://example.org/\n', False),
        ("[http]\n\textraHeader = Authorization: basic b3ds\n", False),
    ],
)
def test_settings_of_git_are_readable_unless_there_are_keys_in_them(text: str, shown: bool, tmp_path: Path) -> None:
    file = tmp_path / "gitconfig"
    file.write_text(text)
    assert git_settings(file) == ((str(file),) if shown else ())


def test_git_may_have_no_settings(tmp_path: Path) -> None:
    assert git_settings(tmp_path / "none") == ()
