"""Sums up a run from its journal: who spoke, what it cost, how it ended, and how its measures developed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from ..arbiter.verdict import Verdict, read_verdicts
from ..conversation.reading import read
from ..core.events import (
    Event,
    ModelReplied,
    PromptGiven,
    RunFinished,
    RunResumed,
    RunStarted,
    TurnFailed,
    TurnFinished,
    TurnStarted,
)
from ..core.exchange import NOTHING_USED, Usage
from ..core.helping import HelpSummed, HintGiven, RunJudged

UNFINISHED = "unfinished"
OVERHEAD = "selecting, summarising, concluding"
"""What models are called for outside of turns."""
MAX_BARS = 120
MAX_HINTS = 200
LONGEST_TITLE = 120
WIDE, HIGH, ABOVE, WIDEST_BAR = 640, 160, 8, 96
"""The size of the picture of all turns, and the space above the highest bar."""
NO_USE = (0, 0.0, 0.0)


@dataclass(slots=True)
class ParticipantStats:
    """The sums of one participant. `type` is its model as configured, `models` those that answered for it."""

    name: str
    type: str = ""
    models: dict[str, None] = field(default_factory=dict)
    turns: int = 0
    failed_turns: int = 0
    seconds: float = 0.0
    usage: Usage = NOTHING_USED

    def finish(self, turn: TurnFinished) -> None:
        self.turns += 1
        self.seconds += turn.seconds
        if turn.model:
            self.models[turn.model] = None

    @property
    def model(self) -> str:
        return ", ".join(self.models) or self.type


Measures = tuple[int, float, float]
"""Tokens, seconds and dollars."""
Bar = dict[tuple[str, bool], Measures]
"""The usage of a turn by participant; the key's flag is True for other models that were called."""


@dataclass(slots=True)
class TurnBars:
    """The usage of turns for a chart. If there are too many turns, each bar sums up `width` of them."""

    width: int = 1
    bars: list[Bar] = field(default_factory=list)
    _in_last: int = 0

    def add(self, bar: Bar) -> None:
        if self.bars and self._in_last < self.width:
            self.bars[-1] = _sum(self.bars[-1], bar)
            self._in_last += 1
            return
        if len(self.bars) == 2 * MAX_BARS:
            self.bars = [_sum(a, b) for a, b in zip(self.bars[::2], self.bars[1::2], strict=True)]
            self.width *= 2
        self.bars.append(bar)
        self._in_last = 1

    @property
    def has_help(self) -> bool:
        return any(is_other for bar in self.bars for _, is_other in bar)

    def highest(self, place: int) -> float:
        """Returns the height of a measure's highest bar."""
        return max((sum(took[place] for took in bar.values()) for bar in self.bars), default=0)

    def boxes(self, place: int, colours: Mapping[str, str]) -> Iterator[tuple[str, bool, float, float, float, float]]:
        """Yields the parts of a measure's bars from the ground up: colour, whether another model was called, box."""
        step, unit = min(WIDE / len(self.bars), WIDEST_BAR), HIGH / (self.highest(place) or 1)
        for n, bar in enumerate(self.bars):
            y = float(HIGH) + ABOVE
            for (name, is_other), took in bar.items():
                height = took[place] * unit
                y -= height
                if height:
                    box = (round(n * step, 2), round(y, 1), round(step - min(2, step / 4), 2), round(height, 1))
                    yield (colours.get(name, "nobody"), is_other, *box)


def _sum(one: Bar, other: Bar) -> Bar:
    return {key: _sum_of(one.get(key, NO_USE), other.get(key, NO_USE)) for key in {**one, **other}}


def _sum_of(one: Measures, other: Measures) -> Measures:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]


FAULTS = ("repetition", "agreement", "drift", "formulaic")
"""The measures in the chart."""
CURVES_HIGH = 150


class SignalRow(NamedTuple):
    """The measures of one turn by name."""

    turn: int
    speaker: str
    signals: Mapping[str, float]


@dataclass(slots=True)
class SignalCurves:
    """The measures of the turns of a run. If there are too many, of every second turn, then of every fourth.

    `hints` holds up to `MAX_HINTS` hints that were given.
    """

    rows: list[SignalRow] = field(default_factory=list)
    hints: list[HintGiven] = field(default_factory=list)
    width: int = 1
    _passed: int = 0

    def mark(self, hint: HintGiven) -> None:
        if len(self.hints) < MAX_HINTS:
            self.hints.append(hint)

    def take(self, turn: TurnFinished) -> None:
        if not turn.signals:
            return
        self._passed += 1
        if self._passed % self.width == 0:
            self.rows.append(SignalRow(turn.turn, turn.speaker, turn.signals))
        if len(self.rows) > MAX_HINTS:
            self.rows, self.width = self.rows[1::2], 2 * self.width

    @property
    def has_chart(self) -> bool:
        """True if there is something to see: a chart of lines along the ground is left out."""
        is_risen = any(row.signals.get(name, 0.0) > 0 for row in self.rows for name in FAULTS)
        return len(self.rows) > 2 and (is_risen or bool(self.hints))

    @property
    def names(self) -> list[str]:
        """The names of all measures, for the head of a table."""
        return list(dict.fromkeys(name for row in self.rows for name in row.signals))

    @property
    def lines(self) -> Mapping[str, list[tuple[float, float]]]:
        """The points of each measure in the chart, by name."""
        return {name: [self._point(row, name) for row in self.rows] for name in FAULTS if name in self.names}

    @property
    def marks(self) -> list[tuple[float, HintGiven]]:
        """The hints with their horizontal positions in the chart."""
        return [(self._bar_position(hint.turn), hint) for hint in self.hints]

    def _point(self, row: SignalRow, name: str) -> tuple[float, float]:
        return self._bar_position(row.turn), round(ABOVE + CURVES_HIGH * (1 - row.signals.get(name, 0.0)), 1)

    def _bar_position(self, turn: int) -> float:
        first, last = self.rows[0].turn, self.rows[-1].turn
        return round(WIDE * min(1.0, max(0.0, (turn - first) / max(1, last - first))), 1)


@dataclass(slots=True)
class RunAccount:
    """The sums of a run. `overhead` is usage outside of turns: speaker selection, summaries, the outcome.

    `goal` is the topic of the run; `config` its configuration as YAML, empty if it was started from Python. `called_in`
    holds up to `MAX_HINTS` models other than the participants' own, `consulted` up to as many turns, with their
    participants, in which such models were called. `verdicts` holds what judges found, the latest last; `judging` is
    the usage of judges, which is not part of the run's usage. `seconds` leaves out the time until a run was resumed.
    """

    name: str
    participants: dict[str, ParticipantStats] = field(default_factory=dict)
    begun: str = ""
    seconds: float = 0.0
    status: str = UNFINISHED
    stop_reason: str = ""
    turns: int = 0
    overhead: Usage = NOTHING_USED
    bars: TurnBars = field(default_factory=TurnBars)
    signals: SignalCurves = field(default_factory=SignalCurves)
    help: HelpSummed | None = None
    goal: str = ""
    config: str = ""
    called_in: list[str] = field(default_factory=list)
    consulted: list[tuple[int, str]] = field(default_factory=list)
    consulted_turns: int = 0
    verdicts: list[Verdict] = field(default_factory=list)
    judging: Usage = NOTHING_USED
    _open: dict[str, Bar] = field(default_factory=dict)

    def take(self, event: Event) -> None:
        match event:
            case RunStarted():
                self._begin(event)
            case PromptGiven(message=message) if not self.goal:
                self.goal = message.text
            case TurnStarted(speaker=speaker):
                self._open[speaker] = {}
            case ModelReplied():
                self._book(event)
            case HintGiven():
                self.signals.mark(event)
            case TurnFinished() | TurnFailed():
                self._end_turn(event)
            case RunFinished() | RunResumed() | HelpSummed() | RunJudged():
                self._end(event)

    def _begin(self, event: RunStarted) -> None:
        """Starts the account. What precedes it in the journal of a fork was used by the run of its origin."""
        self.name, self.overhead, self.help = event.name, NOTHING_USED, None
        self.participants |= {each: ParticipantStats(each, type_) for each, type_ in event.participants.items()}
        self.config = str(event.settings.get("config", ""))
        self.goal = str(self.discussion.get("goal") or self.discussion.get("initial_prompt") or "")

    @property
    def own_turns(self) -> int:
        """The turns of this run: those that a fork has taken over are another run's, as is their usage."""
        return sum(each.turns for each in self.participants.values())

    @property
    def title(self) -> str:
        """The goal, shortened to a title, or the name of the run."""
        line = next(filter(None, map(str.strip, self.goal.splitlines())), self.name)
        return line if len(line) <= LONGEST_TITLE else f"{line[: LONGEST_TITLE - 1].rstrip()}…"

    @property
    def discussion(self) -> Mapping[str, Any]:
        """The section `discussion` of the configuration, or nothing if it can't be read."""
        try:
            written = yaml.safe_load(self.config.replace("$${", "${"))
        except yaml.YAMLError:
            return {}
        found = written.get("discussion") if isinstance(written, dict) else None
        return found if isinstance(found, dict) else {}

    @property
    def cost_limit(self) -> float | None:
        """The limit of the configuration in dollars, or None if there is none or a variable holds it."""
        limits = self.discussion.get("limits")
        dollars = limits.get("cost_usd") if isinstance(limits, dict) else None
        return float(dollars) if isinstance(dollars, int | float) else None

    @property
    def settings(self) -> Mapping[str, Mapping[str, Any]]:
        """The configuration of each participant."""
        models = self.discussion.get("models")
        named = models.items() if isinstance(models, dict) else ()
        return {str(name): spec for name, spec in named if isinstance(spec, dict)}

    def _book(self, entry: ModelReplied) -> None:
        if entry.role == "arbiter":
            self.judging += entry.usage
            return
        if (bar := self._open.get(entry.speaker)) is None:
            self.overhead += entry.usage
            return
        self.participant(entry.speaker).usage += entry.usage
        key = (entry.speaker, entry.role != "own")
        if entry.role != "own" and entry.model not in self.called_in and len(self.called_in) < MAX_HINTS:
            self.called_in.append(entry.model)
        took = (entry.usage.total_tokens, entry.seconds, entry.usage.cost_usd or 0.0)
        bar[key] = _sum_of(bar.get(key, NO_USE), took)

    def _end_turn(self, event: TurnFinished | TurnFailed) -> None:
        bar = self._open.pop(event.speaker, {})
        if any(is_other for _, is_other in bar):
            self.consulted_turns += 1
            if isinstance(event, TurnFinished) and len(self.consulted) < MAX_HINTS:
                self.consulted.append((event.turn, event.speaker))
        self.bars.add(bar)
        if isinstance(event, TurnFinished):
            self.turns += 1
            self.signals.take(event)
            self.participant(event.speaker).finish(event)
        else:
            self.participant(event.speaker).failed_turns += 1

    def participant(self, name: str) -> ParticipantStats:
        return self.participants.setdefault(name, ParticipantStats(name))

    @property
    def usage(self) -> Usage:
        return sum((each.usage for each in self.participants.values()), self.overhead)

    def add_verdict(self, verdict: Verdict) -> None:
        """Adds a verdict given after the end of the run."""
        self.verdicts.append(verdict)
        self.judging += verdict.usage

    def _end(self, event: RunFinished | RunResumed | HelpSummed | RunJudged) -> None:
        """Notes how a run ended. A resumed run is unfinished until it ends again."""
        if isinstance(event, RunJudged):
            self.verdicts.append(Verdict.from_json(event.verdict))
            return
        if isinstance(event, HelpSummed):
            self.help = event
            return
        self.status, self.stop_reason = UNFINISHED, ""
        if isinstance(event, RunFinished):
            self.status, self.stop_reason = event.status, event.stop_reason


def account(run_dir: Path) -> RunAccount:
    """Reads the journal once. Memory does not grow with the number of turns."""
    found, last = RunAccount(run_dir.name), None
    for record, event in read(run_dir):
        found.begun = found.begun or str(record["time"])
        now = datetime.fromisoformat(record["time"])
        if last and not isinstance(event, RunResumed):
            found.seconds += max(0.0, (now - last).total_seconds())  # less than 0 where the clock was set back
        last = now
        found.take(event)
    for verdict in read_verdicts(run_dir):
        found.add_verdict(verdict)
    return found
