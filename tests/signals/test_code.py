"""Bash of an answer is read with its heredocs, in time that grows with its length."""

import pytest

from ai_battle.signals.code import MAX_CHARACTERS, is_readable
from tests.growing import IN_PROPORTION, growth

TIMES = 40
"""No more than `LONGEST` characters are read, so they are read often enough for the square to show."""


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["<<a ", "<<'a' ", "<<a;", "<<a\n\n", "\n", "$((", "'", '"\\', "case "])
def test_hostile_bash_is_read_in_proportion_to_its_length(piece: str) -> None:
    def read(size: int) -> None:
        for _ in range(TIMES):
            is_readable("bash", piece * (size // len(piece)))

    assert growth(read, MAX_CHARACTERS // 16) < IN_PROPORTION


@pytest.mark.parametrize(
    ("code", "readable"),
    [
        ("cat <<EOF\nif it isn't there\nEOF\necho 'done'", True),
        ("cat <<-'END' > notes\n\tit's\n\tEND\n", True),
        ("cat <<EOF\nno end", True),
        ("cat <<EOF", True),
        ("cat <<EOF\ntext\nEOF\necho 'open", False),
        ("cat <<EOF\ntext\n\nEOF\nif true; then echo yes", False),
    ],
)
def test_a_heredoc_may_hold_anything_and_what_follows_is_read(code: str, readable: bool) -> None:
    assert is_readable("bash", code) is readable
