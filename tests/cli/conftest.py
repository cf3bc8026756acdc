"""The command line in this process, in a folder of its own, with no keys and no servers but those of the test."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from ai_battle.cli import run_command


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


Run = Callable[..., Outcome]


@pytest.fixture
def folder(here: Path) -> Path:
    return here


def run_piped(*arguments: object, piped: bytes = b"") -> Outcome:
    """Runs a command that gets these bytes on standard input, which is not a terminal."""
    with CliRunner().isolation(input=piped) as (out, err, _):
        code = run_command([str(argument) for argument in arguments])
    return Outcome(code, out.getvalue().decode(), err.getvalue().decode())


@pytest.fixture
def ai_battle(folder: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: object) -> Outcome:
        code = run_command([str(argument) for argument in arguments])
        shown = capsys.readouterr()
        return Outcome(code, shown.out, shown.err)

    return run
