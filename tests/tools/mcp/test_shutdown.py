"""No server is left, whatever it does and whatever becomes of us."""

import time
from pathlib import Path

import pytest

from .conftest import children, is_alive, start_program


def test_no_server_is_left_when_we_are_killed() -> None:
    with start_program("flood") as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        (server,) = children(process.pid)
        process.kill()

    deadline = time.monotonic() + 30
    while is_alive(server) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not is_alive(server)


@pytest.mark.slow
def test_a_server_that_does_not_heed_the_end_is_killed(tmp_path: Path) -> None:
    number = tmp_path / "number"
    with start_program("stubborn", str(number)) as process:
        assert process.communicate("\n", timeout=30)[0] == "ready\nended\n"
    assert process.returncode == 0
    assert not is_alive(int(number.read_text(encoding="utf-8")))
