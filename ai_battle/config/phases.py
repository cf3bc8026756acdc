"""The schema of phases and visibility, and the checks of how they fit the participants."""

from collections.abc import Iterable, Iterator, Sequence
from string import Template
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field
from pydantic_core import PydanticCustomError

from ..core.plugins import near
from .problems import KeyPath, Problem
from .values import Flag, Listed, Name, Positive, Section, ShortSpelling

if TYPE_CHECKING:
    from .discussion import Discussion

PLACES = ("goal", "name", "round")
"""The placeholders of a phase's instructions."""


def _everybody_named(raw: Any) -> Any:
    if isinstance(raw, str):
        return [raw]
    if not isinstance(raw, list | tuple):
        raise PydanticCustomError(
            "listeners", "must be a list of names; a list inside it is a group whose members hear each other"
        )
    return raw


Listeners = Annotated[tuple[Name | tuple[Name, ...], ...], ShortSpelling(_everybody_named, {"type": "string"})]


class PhaseSettings(Section):
    """A part of a discussion. In each of its rounds, each of its speakers speaks once."""

    name: Annotated[str, Field(min_length=1, max_length=100)] = Field(
        description="Its heading in views and reports.", examples=["rebuttals"]
    )
    rounds: Positive = Field(default=1, description="How often each of its speakers speaks.")
    speakers: Listed[Name] = Field(
        default=(),
        description="The speakers in order; by default everyone who takes turns.",
        examples=[["For", "Against"]],
    )
    instructions: str = Field(
        default="",
        description="What to do; $goal, $name and $round are filled in.",
        examples=["Ask one question."],
    )
    parallel: Flag = Field(default=False, description="In each round all answer at once, without hearing each other.")
    visible_to: Listeners | None = Field(
        default=None,
        description="Who hears it besides the speaker: names, and lists of names whose members hear each other. "
        "[] is nobody; by default everybody.",
        examples=[["Moderator", ["Ann", "Bob"], ["Eve", "Dan"]]],
    )


Phases = Listed[PhaseSettings]
Visibility = dict[Name, Listed[Name]]


def problems(discussion: "Discussion") -> Iterator[Problem]:
    """Yields problems with phases, visibility and secrets that show only in the whole discussion."""
    yield from _phases_beside(discussion)
    names = [*discussion.models]
    for index, phase in enumerate(discussion.phases):
        path: KeyPath = ("discussion", "phases", index)
        yield from _unknown_names(enumerate(phase.speakers), names, (*path, "speakers"))
        yield from _speakers(phase.speakers, (*path, "speakers"), discussion)
        yield from _listeners(phase, (*path, "visible_to"), names)
        yield from _places(phase.instructions, (*path, "instructions"))
    path = ("discussion", "visibility")
    yield from _unknown_names(((name, name) for name in discussion.visibility), names, path)
    for listener, speakers in discussion.visibility.items():
        yield from _unknown_names(enumerate(speakers), names, (*path, listener))
    yield from _without_speaker(discussion)
    if discussion.mode == "no-meta":
        yield from _no_meta_conflicts(discussion)


def notes(discussion: "Discussion") -> Iterator[str]:
    for listener, speakers in discussion.visibility.items():
        if not {*speakers} - {listener}:
            yield f"discussion.visibility.{listener}: {listener} hears nobody, only the prompt and its own words"


def _phases_beside(discussion: "Discussion") -> Iterator[Problem]:
    if discussion.phases and "turns" in discussion.model_fields_set:
        words = "does not go with phases, whose rounds say how long it is; leave it out, or set rounds of a phase"
        yield Problem(("discussion", "turns"), words)
    if discussion.phases and discussion.execution.parallel:
        yield Problem(("discussion", "execution", "parallel"), "does not go with phases; say it of each phase")


def _speakers(speakers: Sequence[str], path: KeyPath, discussion: "Discussion") -> Iterator[Problem]:
    for index, name in enumerate(speakers):
        model = discussion.models.get(name)
        if model and model.role in ("moderator", "observer"):
            yield Problem((*path, index), f"{name!r} is the {model.role}, who has no turn in a phase")
        elif name in speakers[:index]:
            yield Problem((*path, index), f"{name!r} is named twice; more rounds let all speak again")


def _listeners(phase: PhaseSettings, path: KeyPath, names: list[str]) -> Iterator[Problem]:
    for index, entry in enumerate(phase.visible_to or ()):
        if isinstance(entry, str):
            yield from _unknown_names([(index, entry)], names, path)
        else:
            yield from _unknown_names(enumerate(entry), names, (*path, index))


def _places(instructions: str, path: KeyPath) -> Iterator[Problem]:
    for place in Template(instructions).get_identifiers():
        if place not in PLACES:
            words = f"there is nothing to fill ${place} with{near(place, [*PLACES])} A dollar sign is written $$."
            yield Problem(path, words)


def _unknown_names(named: Iterable[tuple[int | str, str]], known: list[str], path: KeyPath) -> Iterator[Problem]:
    """Yields unknown names. `named` has each with its last step: an index, or the name itself if it is a key."""
    for step, name in named:
        if name not in known:
            words = f"nobody here is called {name!r}{near(name, known)}"
            yield Problem((*path, step), words, key=isinstance(step, str))


def _without_speaker(discussion: "Discussion") -> Iterator[Problem]:
    """Finds participants that no phase lets speak, unless a misspelt name may be the missing one."""
    speaks = {name for phase in discussion.phases for name in phase.speakers}
    if not speaks or speaks - {*discussion.models} or not all(phase.speakers for phase in discussion.phases):
        return
    for name in discussion.speakers:
        if name not in speaks:
            words = f"{name!r} speaks in no phase; name it among the speakers of one, or make it an observer"
            yield Problem(("discussion", "models", name), words, key=True)


def _no_meta_conflicts(discussion: "Discussion") -> Iterator[Problem]:
    words = "does not go with mode no-meta, which sends nothing but what is said"
    for index, phase in enumerate(discussion.phases):
        if phase.instructions:
            yield Problem(("discussion", "phases", index, "instructions"), words)
    for name, model in discussion.models.items():
        if model.secret:
            yield Problem(("discussion", "models", name, "secret"), words)
