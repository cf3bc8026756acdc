"""Large files go once to each participant and are referred to later; pictures come in words to models that see none."""

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from ai_battle import ConversationManager, Participant
from ai_battle.conversation.person import PersonClient
from ai_battle.conversation.plan import Phase
from ai_battle.conversation.reading import read
from ai_battle.core.events import EventLog, ModelReplied, Warned
from ai_battle.core.helping import FileDescribed
from ai_battle.testing import FakeProviders, ScriptedClient, call, fault

from ..cli.conftest import Run
from ..pixels import png
from ..scenarios.bodies import Received, received_requests
from .material import needs_ffmpeg, pdf, picture, talk, video


async def requests(fakes: FakeProviders, source: dict[str, Any], wire: str = "openai") -> list[Received]:
    """All requests that an API received, in order."""
    result = await ConversationManager.from_config(source).run_discussion()
    assert result.status == "done"
    return received_requests(fakes, wire)


def pictures(request: Received) -> int:
    return sum(len(message.pictures) for message in request.messages)


def words(request: Received) -> str:
    return "\n".join(message.text for message in request.messages)


async def test_a_picture_stays_in_sight_as_long_as_it_is_talked_about(fakes: FakeProviders, here: Path) -> None:
    (here / "chart.jpg").write_bytes(picture(1000, 800))

    asked = await requests(fakes, talk(["chart.jpg"], "gpt-4o", "gpt-4o", turns=4))

    assert [pictures(request) for request in asked] == [1] * 8
    assert "not sent again" not in "".join(map(words, asked))


async def test_of_many_pictures_those_beyond_the_bound_are_referred_to_after_the_first_answer(
    fakes: FakeProviders, here: Path
) -> None:
    (here / "shots").mkdir()
    for number in range(20):
        (here / "shots" / f"{number:02}.png").write_bytes(png(1400, 1100))

    asked = await requests(fakes, talk({"directory": "shots", "max_files": 20}, "gpt-4o", "gpt-4o", turns=3))

    assert [pictures(request) for request in asked[:2]] == [20, 20]
    later = [pictures(request) for request in asked[2:]]
    assert 1 <= later[0] < 20
    assert later == [later[0]] * 4
    assert "[shots/19.png: PNG, 1400x1100. " in words(asked[2])
    assert "You were shown it before, and it is not sent again; go by what was said of it.]" in words(asked[2])
    for earlier, then in zip(asked[2::2], asked[4::2], strict=False):
        assert then.messages[: len(earlier.messages)] == earlier.messages, "a stable beginning, which caches know again"


@pytest.mark.parametrize(("resend", "then"), [(True, 20), (False, 0)])
async def test_the_user_has_the_last_word_on_what_is_sent_again(
    fakes: FakeProviders, here: Path, resend: bool, then: int
) -> None:
    (here / "shots").mkdir()
    for number in range(20):
        (here / "shots" / f"{number:02}.jpg").write_bytes(picture(200, 200))

    asked = await requests(
        fakes, talk({"directory": "shots", "max_files": 20, "resend": resend}, "gpt-4o", "gpt-4o", turns=2)
    )

    assert [pictures(request) for request in asked] == [20, 20, then, then]


async def test_a_long_text_goes_once_and_a_short_one_stays(fakes: FakeProviders, here: Path) -> None:
    (here / "long.txt").write_text("All work and no play. " * 6_000)
    (here / "short.txt").write_text("Remember the milk.")

    asked = await requests(fakes, talk(["long.txt", "short.txt"], "gpt-4o", "gpt-4o", turns=2))

    assert [words(request).count("All work and no play.") for request in asked] == [6_000, 6_000, 0, 0]
    assert all("Remember the milk." in words(request) for request in asked)
    assert "[long.txt: text, 1 line. You were shown it before" in words(asked[2])


async def test_a_turn_that_brought_no_answer_has_shown_nothing(fakes: FakeProviders, here: Path) -> None:
    (here / "long.txt").write_text("All work and no play. " * 6_000)
    fakes.openai.says("One.", fault("http_400"), "Three.", "Four.")

    source = talk(["long.txt"], "gpt-4o", "gpt-4o", turns=2)
    await ConversationManager.from_config(source).run_discussion()

    counts = [words(request).count("All work and no play.") for request in received_requests(fakes, "openai")]
    assert counts == [6_000, 6_000, 0, 6_000]


async def test_files_are_not_sent_again_with_a_summary(fakes: FakeProviders, here: Path) -> None:
    (here / "long.txt").write_text("All work and no play. " * 6_000)
    fakes.openai.always("word " * 900)

    source = talk(["long.txt"], "gpt-4o", "gpt-4o", turns=6, execution={"max_conversation_tokens": 5_000})
    asked = await requests(fakes, source)

    assert any("notes" in words(request).lower() for request in asked)
    assert [words(request).count("All work and no play.") > 0 for request in asked].count(True) == 2


BLIND = {"type": "ollama/phi4", "capabilities": {"images": False}}


def with_one_who_is_blind(files: Any, **more: Any) -> dict[str, Any]:
    source = talk(files, "gpt-4o", **more)
    source["discussion"]["models"]["Bob"] = BLIND
    return source


async def test_a_model_without_vision_reads_a_description_that_is_made_once(fakes: FakeProviders, here: Path) -> None:
    (here / "chart.jpg").write_bytes(picture())
    fakes.openai.says("I see bars.", "Four bars, the third is the highest.", "Indeed.")

    manager = ConversationManager.from_config(with_one_who_is_blind(["chart.jpg"], turns=2))
    result = await manager.run_discussion(log := EventLog())

    blind, seeing = received_requests(fakes, "ollama"), received_requests(fakes, "openai")
    assert [pictures(request) for request in blind] == [0, 0]
    for request in blind:
        assert "[chart.jpg: JPEG, 64x48. You can't see it; this describes it:]\nFour bars, the third is the" in words(
            request
        )
    assert [pictures(request) for request in seeing] == [1, 1, 1]
    assert "Describe chart.jpg for somebody who can't see it" in words(seeing[1])
    (told,) = (event for event in log.events if isinstance(event, FileDescribed))
    assert (told.file, told.text, told.model) == ("chart.jpg", "Four bars, the third is the highest.", "gpt-4o")
    booked = [event.usage for event in log.events if isinstance(event, ModelReplied)]
    assert told.usage in booked
    assert len(booked) == 5
    kept = [event for _, event in read(result.run_dir) if isinstance(event, FileDescribed)]
    assert kept == [told]


async def test_a_run_that_is_resumed_does_not_ask_for_a_description_again(fakes: FakeProviders, here: Path) -> None:
    (here / "chart.jpg").write_bytes(picture())
    fakes.openai.always("Four bars.")
    manager = ConversationManager.from_config(with_one_who_is_blind(["chart.jpg"]))
    whole = await manager.run_discussion()
    journal = whole.run_dir / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    described = next(number for number, line in enumerate(lines) if b'"type":"file_described"' in line)
    journal.write_bytes(b"".join(lines[: described + 1]))
    asked_before = len(received_requests(fakes, "openai"))

    await manager.resume(whole.run_dir)

    assert len(received_requests(fakes, "openai")) == asked_before
    assert "Four bars." in words(received_requests(fakes, "ollama")[-1])


async def test_a_model_that_takes_no_part_can_describe(fakes: FakeProviders, here: Path) -> None:
    (here / "chart.jpg").write_bytes(picture())
    fakes.gemini.always("Three lines, all of them rising.")
    source = talk(["chart.jpg"], describe_with="gemini-2.5-flash")
    source["discussion"]["models"] = {"Ann": BLIND, "Bob": BLIND}

    asked = await requests(fakes, source, "ollama")

    assert all("Three lines, all of them rising." in words(request) for request in asked)
    assert [pictures(request) for request in received_requests(fakes, "gemini")] == [1]


async def test_without_anybody_who_sees_a_model_is_told_so_and_the_user_too(fakes: FakeProviders, here: Path) -> None:
    (here / "chart.jpg").write_bytes(picture())
    source = talk(["chart.jpg"])
    source["discussion"]["models"] = {"Ann": BLIND, "Bob": BLIND}

    await ConversationManager.from_config(source).run_discussion(log := EventLog())

    (warned,) = (event.message for event in log.events if isinstance(event, Warned))
    assert warned == (
        "Ann, Bob can't see the pictures, and are told so; 'describe_with: MODEL' (--describe-with MODEL) "
        "has them described."
    )
    assert "chart.jpg:\n(a picture, which you can't see)" in words(received_requests(fakes, "ollama")[0])


async def test_a_description_that_fails_is_told_and_not_asked_for_again(fakes: FakeProviders, here: Path) -> None:
    (here / "chart.jpg").write_bytes(picture())
    fakes.openai.says("I see bars.", fault("http_400"), "Indeed.")

    manager = ConversationManager.from_config(with_one_who_is_blind(["chart.jpg"], turns=2))
    await manager.run_discussion(log := EventLog())

    assert any(
        "chart.jpg could not be described to Bob" in each.message for each in log.events if isinstance(each, Warned)
    )
    assert all(
        "You can't see it; nobody could describe it.]" in words(request)
        for request in received_requests(fakes, "ollama")
    )
    assert len(received_requests(fakes, "openai")) == 3


@needs_ffmpeg
async def test_a_video_is_described_once_from_all_its_pictures(fakes: FakeProviders, here: Path) -> None:
    video(here / "clip.mp4")
    fakes.openai.always("A test pattern counts up.")

    asked = await requests(fakes, with_one_who_is_blind([{"path": "clip.mp4", "frames": 3}]), "ollama")

    assert "A test pattern counts up." in words(asked[0])
    assert "clip.mp4 at" not in words(asked[0])
    assert [pictures(request) for request in received_requests(fakes, "openai")] == [3, 3]


@pytest.mark.parametrize(
    ("named", "why"),
    [
        ("Bob", "Bob sees no pictures, so it can't describe any; name a model that does"),
        ("gtp-4o", "It is not a participant either: M0, Bob."),
    ],
)
def test_who_describes_has_to_see(ai_battle: Run, folder: Path, named: str, why: str) -> None:
    (folder / "chart.jpg").write_bytes(picture())
    (folder / "talk.yaml").write_text(json.dumps(with_one_who_is_blind(["chart.jpg"], describe_with=named)))

    said = ai_battle("validate", "talk.yaml")

    assert said.code == 2
    assert "discussion.describe_with: " in said.out
    assert why in said.out


async def test_a_pdf_of_many_pages_goes_once_as_it_is(fakes: FakeProviders, here: Path) -> None:
    (here / "report.pdf").write_bytes(pdf(*(f"Page {number}" for number in range(30))))

    asked = await requests(fakes, talk(["report.pdf"], "gpt-4o", "gpt-4o", turns=2))

    assert ["file_data" in json.dumps(request.body) for request in asked] == [True, True, False, False]
    assert "[report.pdf: PDF, 30 pages. You were shown it before" in words(asked[2])


def test_a_dry_run_says_what_each_file_is_read_for_by_the_formula_of_its_provider(
    ai_battle: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for provider in ("OPENAI", "GEMINI", "ANTHROPIC"):
        monkeypatch.setenv(f"{provider}_API_KEY", "never used")
    (folder / "chart.png").write_bytes(png(1024, 1024))
    (folder / "report.pdf").write_bytes(pdf("One.", "Two."))
    source = with_one_who_is_blind(["chart.png", "report.pdf"], turns=3)
    source["discussion"]["models"]["Gem"] = {"type": "gemini-2.5-flash"}
    source["discussion"]["models"]["Cleo"] = {"type": "anthropic/claude-sonnet-4-5"}
    (folder / "talk.yaml").write_text(json.dumps(source))

    expected = json.loads(ai_battle("run", "talk.yaml", "--dry-run", "--json").out)

    files = {each["participant"]: {file["name"]: file["tokens"] for file in each["files"]} for each in expected}
    label = 4
    assert files["M0"]["chart.png"] - label == 85 + 4 * 170
    assert files["Gem"] == {"chart.png": 4 * 258 + label, "report.pdf": 2 * 258}
    assert files["Cleo"] == {"chart.png": 37 * 37 + label, "report.pdf": 2 * 3000}
    assert files["Bob"]["report.pdf"] < 100, "its text"
    described = [help_ for each in expected for help_ in each["help"]]
    assert [(one["model"], one["when"], one["calls"]) for one in described] == [
        ("openai/gpt-4o", "to describe pictures", 1)
    ]
    assert "file: chart.png, PNG, 1024x1024: about 769 tokens" in ai_battle("run", "talk.yaml", "--dry-run").out


@pytest.mark.parametrize(
    ("first", "second", "both"),
    [(("Eve",), ("Fay",), 0), (("Eve", "Fay"), ("Eve", "Fay"), 1)],
    ids=["in private", "for all"],
)
async def test_pictures_of_one_name_have_a_description_each(
    here: Path, first: tuple[str, ...], second: tuple[str, ...], both: int
) -> None:
    pictures, people = {"Ann": png(8, 8), "Bob": png(9, 8)}, []
    for name, data in pictures.items():
        (here / name).mkdir()
        (here / name / "photo.png").write_bytes(data)
        lines = iter(["/attach photo.png", "Look."])

        async def type_line(prompt: str, lines: Iterator[str] = lines) -> str:
            return next(lines)

        people.append(Participant(name, PersonClient(name, type_line, (), here / name), role="user"))
    blind = {name: ScriptedClient("Hm.", loop=True) for name in ("Eve", "Fay")}
    people += [Participant(name, client, reads=frozenset()) for name, client in blind.items()]
    describer = Participant("", ScriptedClient("This is a cat.", "This is a dog."))
    phases = [
        Phase("one", ("Ann",), visible_to=first),
        Phase("two", ("Bob",), visible_to=second),
        Phase("three", ("Eve", "Fay")),
    ]

    settings: dict[str, Any] = {"describer": describer, "phases": phases}
    manager = ConversationManager(people, goal="Look.", out=here / "run", **settings)
    result = await manager.run_discussion()

    asked = {name: "\n".join(m.text for m in client.requests[0].messages) for name, client in blind.items()}
    assert result.status == "done"
    assert (asked["Eve"].count("This is a cat."), asked["Eve"].count("This is a dog.")) == (1, both)
    assert (asked["Fay"].count("This is a cat."), asked["Fay"].count("This is a dog.")) == (both, 1)


@pytest.mark.parametrize(("wire", "type_"), [("openai", "gpt-4o"), ("anthropic", "anthropic/claude-sonnet-4-5")])
async def test_each_step_of_a_turn_with_tools_has_the_files_and_begins_like_the_one_before(
    fakes: FakeProviders, here: Path, wire: str, type_: str
) -> None:
    (here / "long.txt").write_text("All work and no play. " * 6_000)
    fake = getattr(fakes, wire)
    fake.says(
        call("calculator", expression="2+3"), call("calculator", expression="3+4"), "It is 7.", "Yes.", "So it is."
    )

    source = talk(["long.txt"], type_, type_, turns=2, tools={"registry": ["calculator"]})
    asked = await requests(fakes, source, wire)

    first_turn, second_of_same = asked[:3], asked[4]
    counts = [json.dumps(request.body["messages"]).count("All work and no play.") for request in asked]
    assert counts == [6_000, 6_000, 6_000, 6_000, 0, 0]
    for earlier, then in pairwise(first_turn):
        begins = len(earlier.body["messages"])
        assert without_cache_marks(then.body["messages"][:begins]) == without_cache_marks(earlier.body["messages"])
    if wire == "anthropic":
        assert ["cache_control" in json.dumps(request.body["messages"][-1]) for request in first_turn] == [
            False,
            True,
            True,
        ]
    assert "[long.txt: text, 1 line. You were shown it before" in json.dumps(second_of_same.body["messages"])


def without_cache_marks(value: Any) -> Any:
    """The same without the marks that say how far a cache is to reach."""
    if isinstance(value, dict):
        return {key: without_cache_marks(each) for key, each in value.items() if key != "cache_control"}
    return [without_cache_marks(each) for each in value] if isinstance(value, list) else value
