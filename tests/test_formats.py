"""The formats among the ready configurations: who speaks in which phase, and who gets to hear it, over the wire."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import yaml

from ai_battle.cli import run_command
from ai_battle.testing import FakeProviders
from tests.scenarios.terminal import begin
from tests.test_configs import FOLDER, events, fakes  # noqa: F401 - a fixture

FORMATS = (
    "debate-with-rebuttals", "socratic-tutor", "delphi", "red-team", "jury", "panel", "brainstorm", "interview",
    "pair-programming",
)  # fmt: skip
SELECTOR = ""
"""Who is asked in no name: the panel's chair, about who speaks next."""
every_format = pytest.mark.parametrize("name", FORMATS)


class Room:
    """Models that say their own name and a number, and what each of them was asked."""

    def __init__(self, fakes: FakeProviders, name: str) -> None:  # noqa: F811
        self.discussion: dict[str, Any] = yaml.safe_load((FOLDER / f"{name}.yaml").read_text("utf-8"))["discussion"]
        self.requests: defaultdict[str, list[str]] = defaultdict(list)
        self._numbers = count(1)
        for fake in (fakes.openai, fakes.anthropic, fakes.gemini, fakes.ollama):
            fake.always(self._answer)

    def _answer(self, body: Mapping[str, Any]) -> str:
        asked = json.dumps(body, ensure_ascii=False)
        speaker = next((name for name in self.discussion["models"] if f"You are {name}," in asked), SELECTOR)
        self.requests[speaker].append(asked)
        return f"<{speaker} {next(self._numbers)}>"

    def schedule(self) -> Iterator[tuple[dict[str, Any], list[str]]]:
        models = self.discussion["models"].items()
        everybody = [name for name, model in models if model.get("role") not in ("moderator", "observer")]
        for phase in self.discussion["phases"]:
            speakers = phase.get("speakers", everybody)
            yield phase, ([speakers] if isinstance(speakers, str) else speakers) * phase.get("rounds", 1)


@pytest.fixture
def room(name: str, fakes: FakeProviders) -> Room:  # noqa: F811
    room = Room(fakes, name)
    assert run_command(["run", name, "--out", "here", "--quiet", "--trust"]) == 0
    return room


@every_format
def test_it_runs_as_its_file_says(name: str, room: Room) -> None:
    check_phases(room)
    check_privacy(room)
    check_instructions(room)


def check_phases(room: Room) -> None:
    """Each phase is played by those whom it names, and shown."""
    told = [event for event in events(Path("here")) if event["type"] in ("phase_started", "turn_finished")]
    spoke: list[tuple[str, list[str]]] = []
    for event in told:
        if event["type"] == "phase_started":
            spoke.append((str(event["name"]), []))
        elif spoke:
            spoke[-1][1].append(str(event["speaker"]))
    regulars = {speaker for _, speakers in room.schedule() for speaker in speakers}
    chosen = room.discussion.get("speaker_selection") == "moderator"
    for (heading, speakers), (phase, expected) in zip(spoke, room.schedule(), strict=True):
        taken = [speaker for speaker in speakers if speaker in regulars]
        assert heading == phase["name"]
        assert len(taken) == len(expected)
        assert chosen or taken == expected
    for file in ("transcript.md", "report.html"):
        shown = (Path("here") / file).read_text(encoding="utf-8")
        assert all(f"Phase {number} of" in shown for number in range(1, len(spoke) + 1))


def check_privacy(room: Room) -> None:
    """What is private reaches those whom it is for."""
    turns = [event for event in events(Path("here")) if event["type"] == "turn_finished"]
    for turn in turns:
        text, speaker = turn["message"]["parts"][0]["content"], turn["speaker"]  # type: ignore[index]
        heard = {other for other, requests in room.requests.items() if any(text in request for request in requests)}
        assert heard - {speaker, SELECTOR} <= {*turn.get("heard_by", room.discussion["models"])}, text  # type: ignore[misc]
    public = next(turn for turn in turns if "heard_by" not in turn)
    said = public["message"]["parts"][0]["content"]  # type: ignore[index]
    assert any(said in request for requests in room.requests.values() for request in requests)


def check_instructions(room: Room) -> None:
    """Each is told what to do in its phases, and in no other."""
    for phase, speakers in room.schedule():
        heading = json.dumps(f"# {phase['name']}\n", ensure_ascii=False)[1:-1]
        for speaker in {*speakers}:
            told = sum(heading in request for request in room.requests[speaker])
            assert told == speakers.count(speaker) or room.discussion.get("speaker_selection"), (speaker, heading)


@pytest.mark.parametrize("name", ["delphi"])
def test_no_expert_hears_another_one(name: str, room: Room) -> None:
    experts = ["Planner", "Developer", "Auditor"]
    for expert in experts:
        assert not any(
            f"<{other} " in request for other in experts if other != expert for request in room.requests[expert]
        )
        assert any("<Facilitator " in request for request in room.requests[expert])
    assert all(f"<{expert} " in room.requests["Facilitator"][0] for expert in experts)


@pytest.mark.parametrize("name", ["red-team"])
def test_the_goal_of_the_saboteur_is_told_to_nobody_else(name: str, room: Room) -> None:
    owners = {speaker for speaker, requests in room.requests.items() if any("web agency" in each for each in requests)}
    assert owners == {"Blue 2"}


JOINS = [("delphi", "Planner", 3), pytest.param("red-team", "Blue 1", 5, marks=pytest.mark.slow)]


@pytest.mark.parametrize(("name", "person", "turns"), JOINS)
def test_a_person_joins_and_sees_what_its_seat_hears(
    name: str,
    person: str,
    turns: int,
    tmp_path: Path,
    fakes: FakeProviders,  # noqa: F811
) -> None:
    room = Room(fakes, name)
    running = begin("run", name, f"--set=discussion.models.{person}.role=user", "--out=here")
    done = running.end("".join(f"My word {number}.\n" for number in range(turns)))

    assert done.code == 0, done.err
    told = [event for event in events(tmp_path / "here") if event["type"] == "turn_finished"]
    assert [event["speaker"] for event in told].count(person) == turns
    for event in told:
        text = event["message"]["parts"][0]["content"]  # type: ignore[index]
        may_hear = event["speaker"] == person or person in event.get("heard_by", [person])  # type: ignore[operator]
        assert (text in done.out) == may_hear, text
    assert person not in room.requests
    assert any("My word 0." in request for requests in room.requests.values() for request in requests)
    report = (tmp_path / "here" / "report.html").read_text(encoding="utf-8")
    assert "only</span>" in report, "what was private stands in the report, with who heard it"
