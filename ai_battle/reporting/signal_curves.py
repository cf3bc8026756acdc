"""How the measures of a conversation develop from turn to turn, for a chart and a table of any length of run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ..core.events import TurnFinished
from ..core.helping import HintGiven

FAULTS = ("repetition", "agreement", "drift", "formulaic")
"""The measures in the chart."""
MOST = 200
WIDE, HIGH, ABOVE = 640.0, 150.0, 8.0
"""The size of the chart, and the space above its highest point."""


class SignalRow(NamedTuple):
    """The measures of one turn by name."""

    turn: int
    speaker: str
    signals: Mapping[str, float]


@dataclass(slots=True)
class SignalCurves:
    """The measures of the turns of a run. If there are too many, of every second turn, then of every fourth.

    `hints` holds up to `MOST` hints that were given.
    """

    rows: list[SignalRow] = field(default_factory=list)
    hints: list[HintGiven] = field(default_factory=list)
    width: int = 1
    _passed: int = 0

    def mark(self, hint: HintGiven) -> None:
        if len(self.hints) < MOST:
            self.hints.append(hint)

    def take(self, turn: TurnFinished) -> None:
        if not turn.signals:
            return
        self._passed += 1
        if self._passed % self.width == 0:
            self.rows.append(SignalRow(turn.turn, turn.speaker, turn.signals))
        if len(self.rows) > MOST:
            self.rows, self.width = self.rows[1::2], 2 * self.width

    @property
    def has_chart(self) -> bool:
        """Whether there is something to see: a chart of lines along the ground is left out."""
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
        return [(self._across(hint.turn), hint) for hint in self.hints]

    def _point(self, row: SignalRow, name: str) -> tuple[float, float]:
        return self._across(row.turn), round(ABOVE + HIGH * (1 - row.signals.get(name, 0.0)), 1)

    def _across(self, turn: int) -> float:
        first, last = self.rows[0].turn, self.rows[-1].turn
        return round(WIDE * min(1.0, max(0.0, (turn - first) / max(1, last - first))), 1)
