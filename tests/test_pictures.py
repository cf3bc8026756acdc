"""The pictures of a terminal in the README and the gallery show what a run shows today."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytest.importorskip("pty", reason="A terminal is needed, which this system has not.")

from docs.pictures import FOLDER, SCREENS, run_on_screen

SECONDS = re.compile(r"(?<![\d.])\d+\.\d(?=\s*(?:s\b|▇))")


def without_times(text: str) -> str:
    """The text without its spaces, as lines break elsewhere where a time is longer."""
    return "".join(SECONDS.sub("", text).split())


@pytest.mark.slow
@pytest.mark.parametrize("config", SCREENS)
def test_the_picture_of_a_terminal_is_that_of_a_run(config: str, tmp_path: Path) -> None:
    drawn = ElementTree.parse(FOLDER / f"{SCREENS[config]}.svg")
    texts = ["".join(text.itertext()) for text in drawn.iter("{http://www.w3.org/2000/svg}text")]
    pictured = without_times("".join(texts)).replace(without_times(f"ai-battle run {config}"), "", 1)

    assert pictured == without_times(run_on_screen(config, tmp_path).plain), "draw it anew: make pictures"
