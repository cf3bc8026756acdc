"""Describes a discussion and its phases as a value that is checked once and that any number of runs can start from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from string import Template
from typing import Any, Literal, Self, TypeAlias, get_args

from ..config.discussion import Signals
from ..config.documents import checked_section
from ..config.phases import PLACES
from ..core.client import require_client
from ..core.errors import ConfigError
from ..core.ledger import SpendingLimits
from ..core.messages import Part
from ..core.plugins import near
from .participant import Participant, ParticipantRole
from .stopping import Condition, condition

Mode: TypeAlias = Literal["human-ai", "ai-ai", "no-meta"]
GoalMode: TypeAlias = Literal["discuss", "produce"]
Selection: TypeAlias = Literal["round_robin", "random", "moderator", "auto"]

MODES, SELECTIONS, ROLES = get_args(Mode), get_args(Selection), get_args(ParticipantRole)
GOAL_MODES = get_args(GoalMode)

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


@dataclass(frozen=True)
class Plan:
    """One discussion. `turns` counts rounds; `seed` makes `random` selection repeatable; `stop` is as in the YAML.

    If there are `phases`, they set the rounds, the speakers and whether all answer at once. `outcome` is a prompt or a
    JSON Schema for the result of the discussion. `signals` configures measures of the conversation and hints, as in the
    YAML; None turns them on except in `no-meta`. `describer` describes pictures to participants whose models can't see.
    """

    participants: tuple[Participant, ...]
    goal: str = ""
    name: str = "discussion"
    initial_prompt: str = ""
    mode: Mode = "human-ai"
    turns: int = 3
    speaker_selection: Selection = "round_robin"
    parallel: bool = False
    delay_between_turns: float = 0.0
    stop: Mapping[str, Any] | Sequence[Any] = ()
    limits: SpendingLimits = field(default_factory=SpendingLimits)
    max_conversation_tokens: int | None = None
    established_facts: Any = None
    outcome: str | Mapping[str, Any] = ""
    goal_mode: GoalMode = "discuss"
    signals: bool | Mapping[str, Any] | None = None
    inputs: tuple[Part, ...] = ()
    seed: int = 0
    describer: Participant | None = None
    phases: Sequence[Phase | Mapping[str, Any]] = ()
    visibility: Visibility = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raises `ConfigError` if the settings don't make a discussion."""
        self._check_participants()
        _require(self.mode, MODES, "mode")
        _require(self.goal_mode, GOAL_MODES, "goal_mode")
        _require(self.speaker_selection, SELECTIONS, "speaker_selection")
        if self.speaker_selection == "moderator" and not self.moderator:
            raise ConfigError("speaker_selection is moderator, and no participant has the role moderator.")
        if not self.prompt:
            raise ConfigError("A discussion needs a goal (or an initial_prompt).")
        if self.turns < 1:
            raise ConfigError(f"turns is {self.turns}; it counts rounds and has to be 1 or more.")
        self.ends_early, self.steering  # noqa: B018 - both raise: for an unknown condition, for a wrong threshold
        self._check_phases()

    def _check_participants(self) -> None:
        names = [participant.name for participant in self.participants]
        if len(names) < 2:
            raise ConfigError(f"A discussion needs at least two participants; it has {len(names)}.")
        if twice := {name for name in names if names.count(name) > 1}:
            raise ConfigError(f"Participants need names of their own; used twice: {', '.join(sorted(twice))}.")
        for participant in self.participants:
            require_client(participant.client, f"The client of {participant.name}")
            _require(participant.role, ROLES, f"The role of {participant.name}")
        if not self.regulars:
            raise ConfigError("A discussion needs a participant who is neither moderator nor observer.")

    def _check_phases(self) -> None:
        names = [participant.name for participant in self.participants]
        regulars = [participant.name for participant in self.regulars]
        for phase in self.schedule:
            phase.check(regulars, names)
        for name in (name for pair in self.visibility.items() for name in (pair[0], *pair[1])):
            _require(name, names, "A name in visibility")

    @property
    def model_types(self) -> dict[str, str]:
        """The type of each participant's model, or the class of its client."""
        return {each.name: each.type or type(each.client).__name__ for each in self.participants}

    @property
    def prompt(self) -> str:
        """The text that opens the discussion."""
        return self.initial_prompt.strip() or self.goal.strip()

    @cached_property
    def ends_early(self) -> Condition:
        return condition(self.stop)

    @cached_property
    def steering(self) -> Signals | None:
        """The thresholds and steps for hints; None if nothing is measured."""
        is_wanted = self.mode != "no-meta" if self.signals is None else self.signals is not False
        given = self.signals if isinstance(self.signals, Mapping) else {}
        settings = checked_section(Signals, given) if is_wanted else None
        return settings if settings and settings.enabled else None

    @cached_property
    def regulars(self) -> tuple[Participant, ...]:
        """The participants who take turns."""
        return tuple(p for p in self.participants if p.role not in ("moderator", "observer"))

    @cached_property
    def schedule(self) -> tuple[Phase, ...]:
        """The phases with their speakers; a single unnamed phase if none are configured."""
        everybody = tuple(participant.name for participant in self.regulars)
        written = map(Phase.of, self.phases) if self.phases else [Phase("", (), self.turns, parallel=self.parallel)]
        return tuple(replace(phase, speakers=phase.speakers or everybody) for phase in written)

    @cached_property
    def rounds(self) -> int:
        return sum(phase.rounds for phase in self.schedule)

    @cached_property
    def turns_in_all(self) -> int:
        """All turns of the regular participants; turns of moderators and observers are extra."""
        return sum(phase.turns for phase in self.schedule)

    def position(self, taken: int) -> PhasePosition:
        """Returns the position after `taken` turns of the regular participants."""
        return PhasePosition.after(self.schedule, taken)

    def audience(self, speaker: str, phase: Phase | None = None) -> tuple[str, ...] | None:
        """Returns the others who hear what `speaker` says, in a phase or outside of any; None if all do."""
        others = [each.name for each in self.participants if each.name != speaker]
        may_hear = (name for name in others if speaker in self.visibility.get(name, (speaker,)))
        hearing = tuple(name for name in may_hear if phase is None or phase.is_heard(name, speaker))
        return None if len(hearing) == len(others) else hearing

    @property
    def has_private_words(self) -> bool:
        """True if anything is said or shown that not everybody hears."""
        is_private = any(phase.visible_to is not None for phase in self.schedule)
        return is_private or bool(self.visibility) or any(participant.secret for participant in self.participants)

    @cached_property
    def moderator(self) -> Participant | None:
        return next((p for p in self.participants if p.role == "moderator"), None)

    @cached_property
    def observers(self) -> tuple[Participant, ...]:
        return tuple(p for p in self.participants if p.role == "observer")

    @cached_property
    def human_side(self) -> Participant:
        """The side that asks in `human-ai`: the participant with the role human, else a person, else the first."""
        return next((p for role in ("human", "user") for p in self.regulars if p.role == role), self.regulars[0])


def _require(value: str, known: Sequence[str], what: str) -> None:
    if value not in known:
        raise ConfigError(f"{what} is {value!r}{near(value, list(known))}")
