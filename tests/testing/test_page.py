"""The how-to page tells the truth: its tests run as they stand there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ai_battle.testing.__main__ import main

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "test-without-a-network.md"


@pytest.mark.slow
def test_the_examples_of_the_page_pass(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    for number, block in enumerate(blocks):
        (tmp_path / f"test_block_{number}.py").write_text(block, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
        str(tmp_path),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "7 passed" in done.stdout


def test_the_faults_can_be_listed(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--list-faults"])
    assert "stall_mid_stream         The first half comes, and then nothing." in capsys.readouterr().out
