"""The phases of a discussion: who speaks in each of them, in which order, and who hears what is said there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from string import Template
from typing import Any, Self, TypeAlias

from ..config.phases import PLACES
from ..core.errors import ConfigError
from ..core.plugins import near

Visibility: TypeAlias = Mapping[str, Sequence[str]]
"""Those whom a listener hears, by the name of the listener; who is not in it hears everybody."""


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of a discussion: each of `speakers` (none named: all who take turns) speaks once in each of its `rounds`.

    `instructions` stand at the end of each request, with `$goal`, `$name` and `$round` filled. `visible_to` has those
    who hear what is said, beside who says it: names, and groups whose members hear each other; None is everybody.
    """

    name: str
    speakers: tuple[str, ...] = ()
    rounds: int = 1
    instructions: str = ""
    parallel: bool = False
    visible_to: tuple[str | tuple[str, ...], ...] | None = None

    @classmethod
    def of(cls, raw: "Phase | Mapping[str, Any]") -> "Phase":
        """A phase as the YAML spells it; raises `ConfigError` for a key that there is not."""
        if isinstance(raw, Phase):
            return raw
        known = [field.name for field in fields(cls)]
        if unknown := [key for key in raw if key not in known]:
            raise ConfigError(f"A phase has no {unknown[0]!r}{near(unknown[0], known)}")
        given = {"name": "", **raw}
        for key in ("speakers", "visible_to"):
            if given.get(key) is not None:
                given[key] = _names(given[key])
        return cls(**given)

    @property
    def turns(self) -> int:
        return self.rounds * len(self.speakers)

    def heading(self, goal: str) -> str:
        """Returns the instructions as all are told of them: words stand for names and rounds that differ."""
        name = self.speakers[0] if len(self.speakers) == 1 else "(who speaks)"
        round_ = "1" if self.rounds == 1 else "(the round)"
        return Template(self.instructions.strip()).safe_substitute(name=name, goal=goal.strip(), round=round_)

    def check(self, speakers: Sequence[str], names: Sequence[str]) -> None:
        """Raises `ConfigError` for what can't be played by those who take turns, or before those who take part."""
        if self.rounds < 1:
            raise ConfigError(f"The rounds of phase {self.name!r} are {self.rounds}; it needs 1 or more.")
        for what, named, known in (
            ("A speaker", self.speakers, speakers),
            ("A listener", self._listeners, names),
            ("A place in the instructions", Template(self.instructions).get_identifiers(), PLACES),
        ):
            for name in named:
                if name not in known:
                    raise ConfigError(f"{what} of phase {self.name!r} is {name!r}{near(name, [*known])}")

    @property
    def _listeners(self) -> list[str]:
        entries = self.visible_to or ()
        return [name for entry in entries for name in ((entry,) if isinstance(entry, str) else entry)]

    def is_heard(self, listener: str, speaker: str) -> bool:
        if self.visible_to is None:
            return True
        groups = (entry for entry in self.visible_to if not isinstance(entry, str))
        return listener in self.visible_to or any({listener, speaker} <= {*group} for group in groups)


@dataclass(frozen=True, slots=True)
class PhasePosition:
    """Where in its phases a discussion is: `taken` turns of the phase with that `number` are over, which counts from 1.

    `rounds_before` are those of earlier phases.
    """

    number: int
    phase: Phase
    taken: int
    rounds_before: int

    @classmethod
    def after(cls, phases: Sequence[Phase], taken: int) -> Self:
        """The position when `taken` turns are over: in the last phase when it is over too."""
        rounds, *_, last = 0, *phases
        for number, phase in enumerate(phases, 1):
            if taken < phase.turns or phase is last:
                return cls(number, phase, min(taken, phase.turns), rounds)
            taken -= phase.turns
            rounds += phase.rounds
        raise ValueError("there are no phases")

    @property
    def taken_in_round(self) -> int:
        return self.taken % len(self.phase.speakers)

    @property
    def round(self) -> int:
        """The round of the phase that the next turn belongs to."""
        return min(self.taken // len(self.phase.speakers) + 1, self.phase.rounds)

    def instructions(self, name: str, goal: str) -> str:
        """Returns the instructions of the phase, filled; a dollar sign before anything else is meant as it stands."""
        if not self.phase.instructions:
            return ""
        return Template(self.phase.instructions).safe_substitute(name=name, goal=goal, round=str(self.round))


def audience(
    visibility: Visibility, names: Sequence[str], speaker: str, phase: Phase | None = None
) -> tuple[str, ...] | None:
    """The others who hear what `speaker` says; None where all of `names` do."""
    others = [name for name in names if name != speaker]
    hearing = tuple(
        name
        for name in others
        if speaker in visibility.get(name, (speaker,)) and (phase is None or phase.is_heard(name, speaker))
    )
    return None if len(hearing) == len(others) else hearing


def _names(raw: Any) -> Any:
    """A name alone is short for a list of it, as in the YAML."""
    if isinstance(raw, str):
        return (raw,)
    return tuple(entry if isinstance(entry, str) else tuple(entry) for entry in raw)
