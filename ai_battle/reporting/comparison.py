"""Compares runs: what was said in each, and whether those of one variant differ from those of another."""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

from ..arbiter.verdict import Verdict
from ..benchmark.intervals import Interval, mean_difference_interval, rate_difference_interval
from ..conversation.reading import REPORT, read
from ..core.events import Concluded, ModelReplied, RunForked, TurnFinished
from ..core.exchange import NOTHING_USED, Usage
from .account import RunAccount, account
from .exports import write_whole
from .figures import dollars, score, with_sign
from .pages import page

COMPARISON = "comparison.html"
RECORDED = "as recorded"


@dataclass(frozen=True)
class ComparedRun:
    """One run; `variant` says how it differs from others. Turns up to `after` are excluded."""

    run_dir: Path
    variant: str
    label: str
    after: int = 0
    expected: re.Pattern[str] | None = None

    @cached_property
    def account(self) -> RunAccount:
        return account(self.run_dir)

    @cached_property
    def _events(self) -> Sequence[TurnFinished | ModelReplied]:
        """The compared turns and replies. A fork begins with those of its origin, which are not its own."""
        own: list[TurnFinished | ModelReplied] = []
        for _, event in read(self.run_dir):
            if isinstance(event, TurnFinished | ModelReplied):
                own.append(event)
            if isinstance(event, RunForked) or (isinstance(event, TurnFinished) and event.turn <= self.after):
                own.clear()
        return own

    @cached_property
    def turns(self) -> Mapping[int, TurnFinished]:
        """The turns by number."""
        return {event.turn: event for event in self._events if isinstance(event, TurnFinished)}

    @cached_property
    def ending(self) -> str:
        """The outcome, if there is one, else the last message."""
        concluded = [event.text for _, event in read(self.run_dir) if isinstance(event, Concluded) and event.text]
        return concluded[-1] if concluded else [*self.turns.values()][-1].message.text if self.turns else ""

    @property
    def usage(self) -> Usage:
        """The usage of its turns, its outcome, and all else that was asked for it."""
        replies = (event for event in self._events if isinstance(event, ModelReplied) and event.role != "arbiter")
        return sum((reply.usage for reply in replies), NOTHING_USED)

    @property
    def verdict(self) -> Verdict | None:
        """The latest verdict on the run, if it was judged."""
        return self.account.verdicts[-1] if self.account.verdicts else None

    def score(self, participant: str = "") -> float | None:
        """Returns the judges' score of the run, or of one participant."""
        if not self.verdict:
            return None
        return self.verdict.total(participant) if participant else self.verdict.mean

    @property
    def is_right(self) -> bool:
        """True if the ending matches what is expected."""
        return bool(self.expected and self.expected.search(self.ending))


@dataclass(frozen=True, slots=True)
class Measure:
    name: str
    value: Callable[[ComparedRun], float | None]
    words: Callable[[float], str]
    is_rate: bool = False


@dataclass(frozen=True, slots=True)
class MeasuredChange:
    """A measure of one variant's runs compared with another's, with a 95 % confidence interval."""

    measure: Measure
    variant: str
    against: str
    before: tuple[float, ...]
    after: tuple[float, ...]

    @property
    def change(self) -> float:
        return fmean(self.after) - fmean(self.before)

    @property
    def is_telling(self) -> bool:
        """True if there are enough runs and any difference."""
        return len(self.before) > 1 < len(self.after) and (self.measure.is_rate or len({*self.before, *self.after}) > 1)

    @property
    def interval(self) -> Interval:
        if self.measure.is_rate:
            return rate_difference_interval([*map(bool, self.before)], [*map(bool, self.after)])
        return mean_difference_interval(self.before, self.after)

    @property
    def is_clear(self) -> bool:
        """True if chance alone would rarely cause such a change."""
        low, high = self.interval
        return low > 0 or high < 0

    @property
    def sentence(self) -> str:
        words, (low, high) = self.measure.words, self.interval
        after, before = words(fmean(self.after)), words(fmean(self.before))
        means = f"{self.measure.name}: {self.variant} {after}, {self.against} {before}"
        between = f"{with_sign(self.change, words)}, between {with_sign(low, words)} and {with_sign(high, words)}"
        return f"{means}: {between}. {'That is more than chance.' if self.is_clear else 'That may be chance.'}"

    def to_json(self) -> dict[str, Any]:
        values = {"before": self.before, "after": self.after, "change": self.change, "interval": self.interval}
        names = {"measure": self.measure.name, "variant": self.variant, "against": self.against}
        return {**names, **values, "clear": self.is_clear}


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 10 else f"{value:.3g}"


RIGHT = Measure("has what is expected", lambda run: run.is_right, lambda share: f"{share:.0%}", is_rate=True)
MEASURES = (
    Measure("words", lambda run: sum(len(turn.message.text.split()) for turn in run.turns.values()), _number),
    Measure("turns", lambda run: len(run.turns), _number),
    Measure("tokens", lambda run: run.usage.total_tokens, _number),
    Measure("cost", lambda run: run.usage.cost_usd, dollars),
)


def measured_changes(runs: Sequence[ComparedRun]) -> Iterator[MeasuredChange]:
    """Compares each variant with the first by the measures that all runs have.

    With a single run of a variant nothing can be said about chance, so there is no comparison.
    """
    variants = [*dict.fromkeys(run.variant for run in runs)]
    measures = (*([RIGHT] if any(run.expected for run in runs) else []), *MEASURES, *_scores(runs))
    for variant, measure in product(variants[1:], measures):
        change = MeasuredChange(
            measure, variant, variants[0], *(_values(measure, runs, name) for name in (variants[0], variant))
        )
        if change.is_telling:
            yield change


def _scores(runs: Sequence[ComparedRun]) -> Iterator[Measure]:
    """Yields scores of the run and each participant, if the same judges judged all runs by the same rubric."""
    bases = {run.verdict and run.verdict.basis for run in runs}
    if len(bases) != 1 or None in bases or not runs[0].verdict:
        return
    yield Measure("score", ComparedRun.score, score)
    for name in runs[0].verdict.participants:
        yield Measure(f"score of {name}", partial(ComparedRun.score, participant=name), score)


def _values(measure: Measure, runs: Sequence[ComparedRun], variant: str) -> tuple[float, ...]:
    """Returns the values of a variant's runs, or nothing if one of them is unknown."""
    values = [measure.value(run) for run in runs if run.variant == variant]
    return () if None in values else tuple(value for value in values if value is not None)


def write_comparison(path: Path, title: str, runs: Sequence[ComparedRun], changes: Sequence[MeasuredChange]) -> None:
    """Writes the page, with links relative to its folder. Raises `JournalError`."""
    links = {run.label: os.path.relpath(run.run_dir / REPORT, path.parent) for run in runs}
    write_whole(path, comparison_page(title, runs, changes, links), "The runs have all of it.")


def comparison_page(
    title: str, runs: Sequence[ComparedRun], changes: Sequence[MeasuredChange], links: Mapping[str, str]
) -> Iterator[str]:
    """Yields the page in pieces; `links` lead from the label of each run to its report."""
    return page(
        "comparison.html",
        title=title,
        styles=("report.css", "comparison.css"),
        runs=runs,
        changes=changes,
        turns=sorted({number for run in runs for number in run.turns}),
        links=links,
        has_expectation=any(run.expected for run in runs),
        is_judged=any(run.verdict for run in runs),
        measures=len({change.measure.name for change in changes}),
    )
