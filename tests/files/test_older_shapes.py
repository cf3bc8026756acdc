"""The ways in which YAML files of the earlier program name their files: each loads, and runs."""

import json
import shutil
from pathlib import Path

import pytest
import yaml

from ai_battle import ConversationManager
from ai_battle.testing import FakeProviders

from .material import picture, video

SHAPES = {
    "a video of a size": "input_file: {path: ./Cats.mp4, type: video, max_resolution: 512x512}",
    "a video of a size by its name": 'input_file: {path: "T2-SAG-FLAIR.mov", type: "video", max_resolution: "4K"}',
    "a picture that is called a video": "input_file: {path: ./data/sequence.png, type: video, max_resolution: 4K}",
    "a picture": "input_file: {path: ./data/sequence.png, type: image, max_resolution: 1024x1024}",
    "a text": "input_file: {path: ./docs/system_design.md, type: text}",
    "code that is called a text": "input_file: {path: ./src/main.py, type: text}",
    "code": "input_file: {path: ./src/main.py, type: code}",
    "a path alone": "input_file: ./docs/system_design.md",
    "a list under files": """input_files:
    files:
      - path: Cats.mp4
        type: video
        max_resolution: 512x512
      - path: data/sequence.png
        type: image
    max_resolution: 512x512""",
    "a directory": "input_files: {directory: data, file_pattern: '*.png', max_files: 10, max_resolution: 512x512}",
    "a file that is a directory": "input_file: {path: ./data, type: image, is_directory: true, file_pattern: '*.png'}",
}


VIDEOS = ("a video of a size", "a video of a size by its name", "a list under files")
"""FFmpeg makes one for each of these, which takes it over a second."""


@pytest.mark.parametrize(
    "shape", [pytest.param(shape, marks=pytest.mark.slow if shape in VIDEOS[1:] else ()) for shape in SHAPES]
)
async def test_each_shape_runs_and_the_models_get_the_file(fakes: FakeProviders, here: Path, shape: str) -> None:
    for folder in ("data", "docs", "src"):
        (here / folder).mkdir()
    (here / "data" / "sequence.png").write_bytes(picture(900, 600, "PNG", compress_level=1))
    (here / "docs" / "system_design.md").write_text("# The design of the system\n")
    (here / "src" / "main.py").write_text("print('the main program')\n")
    for name in ("Cats.mp4", "T2-SAG-FLAIR.mov"):
        if name in SHAPES[shape]:
            if shutil.which("ffmpeg") is None:
                pytest.skip("needs ffmpeg: apt install ffmpeg")
            video(here / name, seconds=1)
    models = {
        "model1": {"type": "gpt-4o", "role": "human"},
        "model2": {"type": "gemini-2.0-flash-exp", "role": "assistant"},
    }
    talk = {"turns": 1, "models": models, "goal": "Look at it.", "timeouts": {"request": 300, "retry_count": 2}}
    talk |= yaml.safe_load(SHAPES[shape])
    (here / "old.yaml").write_text(yaml.safe_dump({"discussion": talk}))

    result = await ConversationManager.from_config(here / "old.yaml").run_discussion()

    assert result.status == "done"
    first = json.dumps(fakes.openai.questions[0].body) + json.dumps(fakes.gemini.questions[0].body)
    marks = {"design": "# The design of the system", "main": "the main program", "sequence": "image/", "data": "image/"}
    marks |= {"Cats": "video/mp4", "FLAIR": "video/quicktime"}
    for name, mark in marks.items():
        if f"{name}." in SHAPES[shape] or (name == "data" and "directory" in SHAPES[shape]):
            assert mark in first
