"""Pictures that begin like one and are damaged after that are refused, with the reason; whole ones never are."""

import random
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Pillow

from ai_battle.config.loading import load
from ai_battle.conversation.inputs import read_all
from ai_battle.conversation.setup import check
from ai_battle.core.errors import ConfigError
from ai_battle.files.pictures import damage, media_type
from tests.pixels import SIGNATURE, chunk, png

HEADER = png()[8:33]
WHOLE: dict[str, tuple[str, str, dict[str, Any]]] = {
    "png": ("PNG", "RGB", {}),
    "png with a palette": ("PNG", "P", {}),
    "png of 16 bits": ("PNG", "I;16", {}),
    "black and white png": ("PNG", "1", {"pnginfo": None}),
    "jpeg": ("JPEG", "RGB", {}),
    "progressive jpeg": ("JPEG", "L", {"progressive": True, "comment": b"x" * 70}),
    "cmyk jpeg": ("JPEG", "CMYK", {}),
    "gif": ("GIF", "P", {}),
    "animated gif": ("GIF", "P", {"save_all": True, "append_images": [Pillow.new("P", (40, 30), 3)]}),
    "webp": ("WEBP", "RGB", {}),
    "lossless webp": ("WEBP", "RGBA", {"lossless": True}),
    "webp with exif": ("WEBP", "RGB", {"exif": b"Exif\0\0MM\0*\0\0\0\x08\0\0\0\0\0\0"}),
}


def whole(name: str) -> bytes:
    kind, mode, options = WHOLE[name]
    written = BytesIO()
    Pillow.new(mode, (40, 30)).save(written, kind, **options)
    return written.getvalue()


def damage_of(data: bytes) -> str:
    return damage(data, media_type(data))


@pytest.mark.parametrize("name", WHOLE)
def test_whole_pictures_are_fine_also_with_something_behind_their_end(name: str) -> None:
    assert damage_of(whole(name)) == ""
    assert damage_of(whole(name) + b"\0" * 10) == ""


@pytest.mark.parametrize("name", WHOLE)
def test_what_is_cut_off_is_found_wherever_it_was_cut(name: str) -> None:
    data = whole(name)
    least = 16 if data[8:12] == b"WEBP" else 8
    assert [end for end in range(least, len(data) - 1) if not damage_of(data[:end])] == []


@pytest.mark.parametrize("name", WHOLE)
def test_no_garbage_breaks_the_check(name: str) -> None:
    """Bytes that are changed, left out or doubled anywhere end in a word or in none."""
    dice, data = random.Random(name), whole(name)
    for _ in range(300):
        place = dice.randrange(4, len(data))
        middle = dice.choice([b"", bytes([dice.randrange(256)]), dice.randbytes(9), b"\xff" * 4])
        spoilt = data[:place] + middle + data[place + dice.randrange(5) :]
        if kind := media_type(spoilt):
            assert isinstance(damage(spoilt, kind), str)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (SIGNATURE, "it is cut off"),
        (SIGNATURE + b"this is only a text", "it begins with 'is' instead of a chunk IHDR"),
        (SIGNATURE + b"\x9c\xff\x02" * 20, "it begins with the bytes ff 02 9c ff instead of a chunk IHDR"),
        (SIGNATURE + HEADER + chunk(b"IEND", b""), "it has no chunk IDAT, which holds the pixels"),
        (png(0, 8), "its header states 0x8 pixels"),
        (png().replace(b"\x08\x02\0\0\0", b"\x07\x02\0\0\0"), "its header states 7 bits in colour type 2"),
        (png()[:50], "it is cut off in its chunk 'IDAT'"),
        (png().replace(b"IDAT\x78", b"IDAT\x79"), "the checksum of its chunk 'IDAT' is wrong"),
        (b"\xff\xd8\xff\xe0" + b"garbage" * 9, "it is cut off"),
        (b"\xff\xd8\xff\xe0\0\x04ab and no segment", "there is no segment where one should be, at byte 8"),
        (b"GIF89a" + b"\0" * 9 + b";", "its header states 0x0 pixels"),
        (b"GIF89a" + b"\1" * 20, "it is cut off, as it has no end mark"),
        (b"RIFF\x20\0\0\0WEBPnope" + b"\0" * 40, "it begins with 'nope' instead of a chunk of pixels"),
        (b"RIFF\x20\0\0\0WEBPVP8L" + b"\0" * 40, "the mark at the start of its chunk 'VP8L' is wrong"),
    ],
)
def test_the_reason_is_told(data: bytes, reason: str) -> None:
    assert damage_of(data).startswith(reason)


def test_it_is_refused_by_validate_and_run_alike_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "x.png").write_bytes(png()[:-20])
    models = {name: {"type": "scripted", "script": ["Hm."]} for name in ("ada", "bob")}
    talk = {"goal": "Look.", "models": models, "input_file": "x.png"}
    (tmp_path / "look.yaml").write_text(repr({"discussion": talk}))
    loaded = load(tmp_path / "look.yaml")
    words = "x.png begins like a PNG, but is damaged: it is cut off in its chunk 'IDAT'"

    assert [(problem.path, problem.message) for problem in check(loaded)] == [
        (("discussion", "input_file", "path"), words)
    ]
    with pytest.raises(ConfigError, match=words):
        read_all(loaded)


def test_any_number_of_chunks_is_fine() -> None:
    many = SIGNATURE + HEADER + chunk(b"IDAT", b"x") * 100_000 + chunk(b"IEND", b"")
    assert damage_of(many) == ""
