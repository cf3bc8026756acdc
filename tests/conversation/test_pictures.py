"""Pictures that are larger than `max_resolution`."""

import struct
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Pillow

from ai_battle.config.loading import load
from ai_battle.conversation.inputs import Inputs, problems, read_all
from ai_battle.core.errors import ConfigError
from ai_battle.core.messages import Image
from ai_battle.files import pictures
from tests.pixels import chunk, png

ORIENTATION = 0x0112
TURNED = 6
FORMATS = {"PNG": "image/png", "JPEG": "image/jpeg", "GIF": "image/gif", "WEBP": "image/webp"}
MODES = ["1", "L", "LA", "P", "RGB", "RGBA", "I;16", "CMYK"]


def picture(size: tuple[int, int], kind: str = "PNG", mode: str = "RGB", **options: Any) -> bytes:
    written = BytesIO()
    Pillow.new(mode, size).save(written, kind, **options)
    return written.getvalue()


def inputs(folder: Path, data: bytes, resolution: str | None, **more: object) -> Inputs:
    (folder / "x.img").write_bytes(data)
    models = {name: {"type": "scripted", "script": ["Hm."]} for name in ("ada", "bob")}
    file = {"path": "x.img", **({"max_resolution": resolution} if resolution else {}), **more}
    (folder / "look.yaml").write_text(repr({"discussion": {"goal": "Look.", "models": models, "input_file": file}}))
    return read_all(load(folder / "look.yaml"))


def open_picture(read: Inputs) -> Any:
    _, part = read.parts
    assert isinstance(part, Image)
    return Pillow.open(BytesIO(part.data))


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize(
    ("resolution", "expected"), [("1024x1024", (1024, 512)), ("400x100", (200, 100)), ("1K", (1024, 512))]
)
def test_a_larger_picture_is_scaled_down_in_its_own_shape_and_format(
    kind: str, resolution: str, expected: tuple[int, int], tmp_path: Path
) -> None:
    read = inputs(tmp_path, picture((2000, 1000), kind), resolution)

    assert (open_picture(read).format, open_picture(read).size, read.warnings) == (kind, expected, ())
    assert isinstance(read.parts[1], Image)
    assert read.parts[1].media_type == FORMATS[kind]


@pytest.mark.parametrize("mode", MODES)
def test_pictures_of_any_colours_can_be_scaled_down(mode: str, tmp_path: Path) -> None:
    kind = "JPEG" if mode == "CMYK" else "PNG"
    assert open_picture(inputs(tmp_path, picture((300, 300), kind, mode), "100x100")).size == (100, 100)


@pytest.mark.parametrize("resolution", ["2000x1000", "4K"])
def test_a_picture_that_fits_is_not_touched(resolution: str, tmp_path: Path) -> None:
    data = picture((2000, 1000), "JPEG")
    read = inputs(tmp_path, data, resolution)
    assert isinstance(read.parts[1], Image)
    assert (read.parts[1].data, read.warnings) == (data, ())


def test_by_default_a_picture_is_made_as_small_as_models_would_make_it(tmp_path: Path) -> None:
    assert open_picture(inputs(tmp_path, picture((2000, 1000)), None)).size == (1568, 784)


@pytest.mark.parametrize("resolution", ["1000x1000", "4K"])
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_what_the_camera_added_does_not_leave_and_the_picture_stands_upright(
    kind: str, resolution: str, tmp_path: Path
) -> None:
    smaller = open_picture(inputs(tmp_path, picture((1000, 500), kind, exif=_exif()), resolution))
    assert (smaller.size, dict(smaller.getexif())) == ((500, 1000), {})


def _exif() -> Any:
    exif = Pillow.Exif()
    exif[ORIENTATION] = TURNED
    return exif


def test_a_picture_of_absurd_size_is_refused_before_it_is_opened(tmp_path: Path) -> None:
    """A hundred bytes that would be gigabytes of pixels."""
    bomb = picture((1, 1))
    header = struct.pack(">II", 60_000, 60_000) + bomb[24:29]
    bomb = bomb[:8] + chunk(b"IHDR", header) + bomb[33:]

    with pytest.raises(ConfigError, match=r"input_file\.path: x\.img has 60000x60000 pixels; 89 million are the most"):
        inputs(tmp_path, bomb, "1024x1024")
    assert [problem.path for problem in problems(load(tmp_path / "look.yaml"))] == [
        ("discussion", "input_file", "path")
    ]


def test_a_picture_whose_pixels_are_damaged_is_named(tmp_path: Path) -> None:
    """What is around them is whole."""
    data = png(2000, 1000)[:33] + chunk(b"IDAT", b"no pixels") + chunk(b"IEND", b"")
    with pytest.raises(ConfigError, match=r"input_file\.path: x\.img can't be scaled down"):
        inputs(tmp_path, data, "100x100")


@pytest.mark.parametrize(("kind", "options"), [*((kind, {}) for kind in FORMATS), ("WEBP", {"lossless": True})])
def test_the_size_is_known_without_opening_the_picture(kind: str, options: dict[str, Any]) -> None:
    assert pictures.size(picture((2000, 1000), kind, **options)) == (2000, 1000)


def test_without_pillow_one_warning_says_how_to_get_it(tmp_path: Path) -> None:
    """In a process that can't import it."""
    data = picture((2000, 1000))
    inputs(tmp_path, data, "100x100")
    program = f"""
import sys
sys.modules["PIL"] = None
from ai_battle.config.loading import load
from ai_battle.conversation.inputs import read_all
read = read_all(load({str(tmp_path / "look.yaml")!r}))
print(len(read.parts[1].data), *read.warnings)
"""
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout

    assert said == (
        f"{len(data)} x.img is sent in its size and with its metadata: "
        "PIL.Image is not installed; it comes with: pip install 'ai-battle[images]'.\n"
    )
