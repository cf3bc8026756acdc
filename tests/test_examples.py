"""The examples are programs that run offline, leave nothing behind, and print what they say that they print."""

import ast
import runpy
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))

every_example = pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)


def announced_output(example: Path) -> str:
    """Returns what stands after "It prints:" in the first docstring."""
    docstring = ast.get_docstring(ast.parse(example.read_text(encoding="utf-8"))) or ""
    return dedent(docstring.partition("It prints:")[2]).strip()


def test_there_are_eight_and_more() -> None:
    assert len(EXAMPLES) >= 8


@every_example
def test_it_prints_what_it_says(example: Path, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(example), run_name="__main__")

    shown = capsys.readouterr()
    assert (shown.out.strip(), shown.err) == (announced_output(example), "")
    assert list(here.iterdir()) == []


@pytest.mark.slow
@every_example
def test_it_does_so_as_a_program_of_its_own(example: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", str(example)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip() == announced_output(example)
    assert list(tmp_path.iterdir()) == []


@every_example
def test_it_does_nothing_when_it_is_only_imported(example: Path) -> None:
    *_, last = ast.parse(example.read_text(encoding="utf-8")).body
    assert ast.unparse(last).startswith("if __name__ == '__main__':")
