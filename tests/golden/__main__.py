"""Writes the recorded runs: all of them, or those that are named."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from .scenes import SCENES
from .world import record

for name in sys.argv[1:] or SCENES:
    with TemporaryDirectory() as place:
        (Path(__file__).parent / "recorded" / f"{name}.txt").write_text(record(SCENES[name], Path(place)))
        print(name, flush=True)
