"""Defines the phases of a discussion: who speaks in each, in which order, and who hears it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from string import Template
from typing import Any, Self, TypeAlias

from ..config.phases import PLACES
from ..core.errors import ConfigError
from ..core.plugins import near

Visibility: TypeAlias = Mapping[str, Sequence[str]]
"""The speakers that each listener hears, by listener; a listener that is not in it hears everybody."""


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of a discussion. Each of `speakers`, by default all regulars, speaks once in each of `rounds`.

    `instructions` are appended to each request, with `$goal`, `$name` and `$round` filled in. `visible_to` lists who
    hears what is said besides the speaker: names, and groups whose members hear each other; None means everybody.
    """

    name: str
    speakers: tuple[str, ...] = ()
    rounds: int = 1
    instructions: str = ""
    parallel: bool = False
    visible_to: tuple[str | tuple[str, ...], ...] | None = None

    @classmethod
    def of(cls, raw: "Phase | Mapping[str, Any]") -> "Phase":
        """Builds a phase from its YAML form. Raises `ConfigError` for an unknown key."""
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
        """Returns the instructions as everybody sees them, with words in place of names and rounds that vary."""
        name = self.speakers[0] if len(self.speakers) == 1 else "(who speaks)"
        round_ = "1" if self.rounds == 1 else "(the round)"
        return Template(self.instructions.strip()).safe_substitute(name=name, goal=goal.strip(), round=round_)

    def check(self, speakers: Sequence[str], names: Sequence[str]) -> None:
        """Raises `ConfigError` for speakers who take no turns, for unknown listeners and for unknown places."""
        if self.rounds < 1:
            raise ConfigError(f"Phase {self.name!r} has {self.rounds} rounds; it needs 1 or more.")
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
    """A position in the phases: `taken` turns of the phase with this `number`, counted from 1, are over.

    `rounds_before` counts the rounds of earlier phases.
    """

    number: int
    phase: Phase
    taken: int
    rounds_before: int

    @classmethod
    def after(cls, phases: Sequence[Phase], taken: int) -> Self:
        """Returns the position after `taken` turns. At the end of the discussion this is still the last phase."""
        rounds, *_, last = 0, *phases
        for number, phase in enumerate(phases, 1):
            if taken < phase.turns or phase is last:
                return cls(number, phase, min(taken, phase.turns), rounds)
            taken -= phase.turns
            rounds += phase.rounds
        raise ValueError("there are no phases")

    @property
    def turns_in_round(self) -> int:
        return self.taken % len(self.phase.speakers)

    @property
    def round(self) -> int:
        """The round of the phase that the next turn belongs to."""
        return min(self.taken // len(self.phase.speakers) + 1, self.phase.rounds)

    def instructions(self, name: str, goal: str) -> str:
        """Fills in the instructions of the phase; a dollar sign before any other text stays literal."""
        if not self.phase.instructions:
            return ""
        return Template(self.phase.instructions).safe_substitute(name=name, goal=goal, round=str(self.round))


def _names(raw: Any) -> Any:
    """Turns names from the YAML into a tuple; a single name is short for a list of one."""
    if isinstance(raw, str):
        return (raw,)
    return tuple(entry if isinstance(entry, str) else tuple(entry) for entry in raw)
