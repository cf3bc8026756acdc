"""What each API is sent of a file: the file as it is where the API takes it, else the best that stands for it."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from ai_battle import ConversationManager
from ai_battle.testing import FakeProvider, FakeProviders

from .material import needs_ffmpeg, pdf, picture, talk, video

TYPES = {
    "openai": "gpt-4o",
    "anthropic": "anthropic/claude-sonnet-4-5",
    "gemini": "gemini-2.5-pro",
    "ollama": "ollama/phi4",
}
NATIVE = ("openai", "anthropic", "gemini")


async def first_bodies(fakes: FakeProviders, source: dict[str, Any]) -> dict[str, Any]:
    """The first request that each API received."""
    result = await ConversationManager.from_config(source).run_discussion()
    assert result.status == "done"
    fake: dict[str, FakeProvider] = {wire: getattr(fakes, wire) for wire in TYPES}
    return {wire: one.questions[0].body for wire, one in fake.items() if one.questions}


async def test_a_pdf_goes_as_it_is_to_those_who_read_it_and_as_text_to_the_other(
    fakes: FakeProviders, here: Path
) -> None:
    data = pdf("Revenue rose to 42", "Costs fell to 7")
    (here / "report.pdf").write_bytes(data)

    bodies = await first_bodies(fakes, talk(["report.pdf"], *TYPES.values()))

    encoded = base64.b64encode(data).decode()
    assert bodies["anthropic"]["messages"][0]["content"][0] == {
        "type": "document",
        "source": {"type": "base64", "media_type": "application/pdf", "data": encoded},
        "title": "report.pdf",
    }
    assert bodies["openai"]["messages"][-1]["content"][0] == {
        "type": "file",
        "file": {"filename": "report.pdf", "file_data": f"data:application/pdf;base64,{encoded}"},
    }
    assert bodies["gemini"]["contents"][0]["parts"][0] == {
        "inlineData": {"mimeType": "application/pdf", "data": encoded}
    }
    assert (
        "report.pdf (PDF, 2 pages):\n```\n[page 1]\nRevenue rose to 42\n\n[page 2]\nCosts fell to 7\n```"
        in (bodies["ollama"]["messages"][-1]["content"])
    )
    for wire in NATIVE:
        assert "[page 1]" not in json.dumps(bodies[wire])


@needs_ffmpeg
async def test_a_video_goes_as_it_is_to_gemini_and_as_pictures_at_even_times_to_others(
    fakes: FakeProviders, here: Path
) -> None:
    data = video(here / "clip.mp4", seconds=8).read_bytes()

    bodies = await first_bodies(fakes, talk([{"path": "clip.mp4", "frames": 4}], "gemini-2.5-pro", "gpt-4o"))

    gemini = bodies["gemini"]["contents"][0]["parts"]
    assert gemini[0] == {"inlineData": {"mimeType": "video/mp4", "data": base64.b64encode(data).decode()}}
    assert len(gemini) == 2, "the prompt, and no pictures beside the video"
    openai = bodies["openai"]["messages"][-1]["content"]
    said = [part["text"] for part in openai if part["type"] == "text"]
    assert [text for text in said if text.startswith("clip.mp4")] == [
        f"clip.mp4 at 0:0{second}:\n" for second in (1, 3, 5, 7)
    ]
    assert sum(part["type"] == "image_url" for part in openai) == 4
    assert all(part["type"] != "file" for part in openai)


async def test_code_has_line_numbers_and_a_table_its_beginning_and_shape(fakes: FakeProviders, here: Path) -> None:
    (here / "a.py").write_text("import os\n\nprint(os)\n")
    (here / "plain.py").write_text("import os\n")
    rows = "".join(f"{number},thing {number}\n" for number in range(90_000))
    (here / "things.csv").write_text(f"id;name\n{rows}".replace(",", ";"))
    entries = [{"id": number, "note": "x" * 1000} for number in range(3_000)]
    (here / "things.json").write_text(json.dumps({"entries": entries, "total": 3000}))
    files = ["a.py", {"path": "plain.py", "type": "text"}, "things.csv", "things.json"]

    text = json.dumps((await first_bodies(fakes, talk(files, "ollama/phi4", "ollama/phi4")))["ollama"])
    text = json.loads(text)["messages"][-1]["content"]

    assert "a.py:\n```py\n1| import os\n2| \n3| print(os)\n```" in text
    assert "plain.py:\n```py\nimport os\n```" in text
    assert "things.csv (CSV, 90,000 rows, 2 columns (id, name); the first 1," in text
    assert "0,thing 0\n1,thing 1\n" in text
    assert "things.json (JSON, an object with 2 keys; of each list the first " in text
    assert "more of 3,000" in text
    assert '"total": 3000' in text
    assert len(text) < 70_000


@pytest.mark.slow
async def test_many_pictures_are_made_small_until_all_fit_into_one_request(fakes: FakeProviders, here: Path) -> None:
    (here / "shots").mkdir()
    data = picture(1000, 800)
    for number in range(25):
        (here / "shots" / f"{number:03}.jpg").write_bytes(data)
    assert len(data) * 25 > 10_000_000

    bodies = await first_bodies(fakes, talk({"directory": "shots", "max_files": 25}, "gpt-4o", "gpt-4o"))

    content = bodies["openai"]["messages"][-1]["content"]
    pictures = [part["image_url"]["url"] for part in content if part["type"] == "image_url"]
    assert len(pictures) == 25
    assert sum(map(len, pictures)) < 12_000_000
    assert [part["text"] for part in content if part["type"] == "text"][:2] == ["shots/000.jpg:\n", "shots/001.jpg:\n"]


async def test_what_a_model_is_told_of_a_path_says_nothing_of_this_machine(fakes: FakeProviders, here: Path) -> None:
    (here / "deep").mkdir()
    for name in ("deep/a.txt", "b.txt"):
        (here / name).write_text("Hm.")

    bodies = await first_bodies(fakes, talk(["./deep/a.txt", str(here / "b.txt")], "gpt-4o", "gpt-4o"))

    said = json.dumps(bodies)
    assert "deep/a.txt:" in said
    assert "b.txt:" in said
    assert str(here) not in said


@pytest.mark.parametrize("wire", NATIVE)
async def test_a_model_that_is_said_to_lack_documents_reads_the_text(
    fakes: FakeProviders, here: Path, wire: str
) -> None:
    (here / "report.pdf").write_bytes(pdf("Revenue rose to 42"))
    source = talk(["report.pdf"], TYPES[wire], TYPES[wire])
    for model in source["discussion"]["models"].values():
        model["capabilities"] = {"documents": False}

    assert "[page 1]\\nRevenue rose to 42" in json.dumps(await first_bodies(fakes, source))
