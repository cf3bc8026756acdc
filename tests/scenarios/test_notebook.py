"""A notebook, in a real Jupyter kernel: a loop runs there already, and calls return when there is a result."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

CELLS = (
    """
import ai_battle
from ai_battle.core.errors import ConfigError
models = {"Ann": {"type": "scripted", "script": ["Green tea."]}, "Ben": {"type": "scripted", "script": ["White tea."]}}
talk = {"discussion": {"turns": 1, "goal": "Which tea?", "models": models}}
result = ai_battle.run(talk, out="first")
print(result.status, [message.text for message in result.messages])
""",
    "shown = ai_battle.run(talk, out='second', emit=ai_battle.live_view())",
    "(await ai_battle.ConversationManager.from_config(talk, out='third').run_discussion()).turns",
    """
try:
    ai_battle.run({"discussion": {"gaol": "Tea?", "models": models}})
except ConfigError as error:
    print(error)
""",
)


NEEDED = ("nbclient", "ipykernel")
EXECUTE = "from nbclient.cli import main; main()"


@pytest.mark.slow
@pytest.mark.skipif(not all(map(find_spec, NEEDED)), reason=f"no Jupyter here: pip install {' '.join(NEEDED)}")
def test_discussions_run_and_are_shown_in_a_notebook(tmp_path: Path) -> None:
    cell: dict[str, Any] = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    cells = [{**cell, "id": f"cell-{number}", "source": source} for number, source in enumerate(CELLS)]
    notebook = tmp_path / "tea.ipynb"
    notebook.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    own = dict.fromkeys(("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"), str(tmp_path))
    command = [sys.executable, "-c", EXECUTE, "--inplace", "--timeout=60", str(notebook)]
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, **own}, capture_output=True, text=True, timeout=100, check=False
    )

    assert done.returncode == 0, done.stderr
    returned, shown, awaited, refused = map(text_of, json.loads(notebook.read_text())["cells"])
    assert returned == "done ['Which tea?', 'Green tea.', 'White tea.']\n"
    assert "Green tea." in shown
    assert "White tea." in shown
    assert awaited == "2"
    assert "did you mean 'goal'?" in refused
    assert {"first", "second", "third"} <= {folder.name for folder in tmp_path.iterdir()}


def text_of(cell: Mapping[str, Any]) -> str:
    """Returns what a cell printed, and what its last line came to."""
    return "".join("".join(output.get("text") or output["data"]["text/plain"]) for output in cell["outputs"])
