"""Measures the detector alone: `python -m research.detector DIR`.

"Without labels" means that the weights were learned without any answer of the tested small model. The weights of the
families tool and chat are set by hand, so they learn from no answer at all.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from ai_battle.judging.calibrate import MeasuredAnswer, fitted_corrections
from ai_battle.judging.calibration import Calibration
from ai_battle.judging.early_stop import Prefix
from ai_battle.judging.family import FAMILIES, Family
from ai_battle.judging.judgements import JUDGEMENTS, Measurements, to_learn
from ai_battle.judging.measures import Measure, apgr, auroc, calibration_error, cpt, interval, mean
from ai_battle.judging.weights import Score, Weights, score, shipped_weights, with_hand
from research.learn import everyday_measurements, learn_profile, with_gains
from research.records import Pair, Record, pairs_named

FOLDS = 10
THRESHOLD, PIECE = 0.7, 20
HEADER = f"{'pair':36} {'auroc':>6} {'apgr':>6} {'cpt50':>6} {'cpt80':>6} {'help':>6} {'error':>6}"


@dataclass(frozen=True, slots=True)
class Row:
    """The figures of a pair. `help_rate` is the share of stuck answers, `error` the expected calibration error."""

    name: str
    auroc: float
    apgr: float
    cpt50: float
    cpt80: float
    help_rate: float
    error: float

    def __str__(self) -> str:
        figures = (self.auroc, self.apgr, self.cpt50, self.cpt80, self.help_rate, self.error)
        return f"{self.name:36} " + " ".join(f"{figure:6.3f}" for figure in figures)


def row(name: str, pair: Pair, scores: Sequence[Score]) -> Row:
    qualities, gains = [found.quality for found in scores], [found.gain for found in scores]
    wrong = [small <= 0.5 for small in pair.small]
    return Row(
        name,
        auroc([-quality for quality in qualities], wrong),
        apgr(gains, pair.small, pair.large),
        cpt(gains, pair.small, pair.large, 0.5),
        cpt(gains, pair.small, pair.large, 0.8),
        mean(stuck_flags(scores)),
        calibration_error(qualities, pair.small),
    )


def stuck_flags(scores: Sequence[Score]) -> list[bool]:
    """Checks for each answer whether it is stuck at the defaults."""
    return [bool(found.failed) or found.quality < THRESHOLD for found in scores]


def by_weights(pair: Pair, weights: Weights) -> list[Score]:
    return [score(measured, pair.family, weights) for measured in pair.measurements]


def weights_without(pair: Pair, pairs: Sequence[Pair]) -> Weights:
    """Returns weights that have seen no answer of this pair's small model."""
    others = [other for other in pairs if other.family == pair.family and other.small_model != pair.small_model]
    if not others or not to_learn(pair.family):
        return shipped_weights()
    profile = with_hand(with_gains(learn_profile(others, pair.family, pair.small_model), others), pair.family)
    return {**shipped_weights(), pair.family: profile}


def calibrated_scores(pair: Pair, weights: Weights) -> list[Score]:
    """Judges each tenth of the answers by a calibration on the labels of the others."""
    found: list[Score] = [None] * len(pair.records)  # type: ignore[list-item]
    for fold in range(FOLDS):
        samples = [sample for place, sample in enumerate(_samples(pair)) if place % FOLDS != fold]
        own = Calibration(0.0, corrections=fitted_corrections(samples, weights)).apply_to(weights)
        for place in range(fold, len(pair.records), FOLDS):
            found[place] = score(pair.measurements[place], pair.family, own)
    return found


def _samples(pair: Pair) -> list[MeasuredAnswer]:
    return [
        MeasuredAnswer(pair.family, measured, record.small, record.large)
        for measured, record in zip(pair.measurements, pair.records, strict=True)
    ]


def tables(pairs: Sequence[Pair]) -> Iterator[str]:
    ways: dict[str, Callable[[Pair], list[Score]]] = {
        "without labels of the small model": lambda pair: by_weights(pair, weights_without(pair, pairs)),
        "as shipped": lambda pair: by_weights(pair, shipped_weights()),
        "calibrated on the pair's other labels": lambda pair: calibrated_scores(pair, weights_without(pair, pairs)),
    }
    for title, way in ways.items():
        yield f"\n{title}\n{HEADER}"
        rows = {pair: row(pair.name, pair, way(pair)) for pair in pairs}
        yield from map(str, rows.values())
        yield from (
            str(_mean_of(family, [r for pair, r in rows.items() if pair.family == family])) for family in FAMILIES
        )


def _mean_of(family: str, rows: Sequence[Row]) -> Row:
    columns = ("auroc", "apgr", "cpt50", "cpt80", "help_rate", "error")
    return Row(f"= {family}", *(mean([getattr(each, column) for each in rows]) for column in columns))


def cuts(pairs: Sequence[Pair]) -> Iterator[str]:
    """Yields the shares of right and wrong answers that are cut short while they stream, and of characters saved."""
    yield f"\ncut short while streaming\n{'pair':36} {'right':>6} {'wrong':>6} {'saved':>6}"
    for pair in pairs:
        read = [(_characters_read(record), len(record.response), record.small > 0.5) for record in pair.records]
        right = [float(seen < length) for seen, length, good in read if good]
        wrong = [float(seen < length) for seen, length, good in read if not good]
        saved = 1 - sum(seen for seen, _, _ in read) / max(1, sum(length for _, length, _ in read))
        yield f"{pair.name:36} {mean(right):6.4f} {mean(wrong):6.4f} {saved:6.4f}"


def _characters_read(record: Record) -> int:
    """Returns the characters that are read until the answer is stopped. It arrives in pieces of twenty characters."""
    watcher = Prefix(offers_tools=bool(record.context.tools))
    for start in range(0, len(record.response), PIECE):
        if watcher.feed(record.response[start : start + PIECE]):
            break
    return watcher.length


@dataclass(frozen=True, slots=True)
class UnhelpedRow:
    """The shares of right answers that are stuck at the defaults, and that each judgement stops at once."""

    name: str
    right: int
    stuck: float
    at_once: Mapping[str, float]

    def __str__(self) -> str:
        fallen = ", ".join(f"{name} {share:.2%}" for name, share in self.at_once.items() if share)
        return f"{self.name:36} {self.right:6} {self.stuck:6.1%}  {fallen}"


def unhelped_rows(pairs: Sequence[Pair]) -> Iterator[UnhelpedRow]:
    """Yields the row of right answers for each recorded model, and for everyday answers.

    If an answer names no option, MMLU-Pro draws one at random (evaluate_from_local.py). Such an answer does not count
    as right.
    """
    for pair in pairs:
        answers = zip(pair.measurements, pair.small, strict=True)
        yield _unhelped_row(
            pair.name,
            [(each, pair.family) for each, small in answers if small > 0.5 and not each.signals.get("no_pick")],
        )
    yield _unhelped_row("everyday", [(found, family) for family in FAMILIES for found in everyday_measurements(family)])


def _unhelped_row(name: str, right: Sequence[tuple[Measurements, Family]]) -> UnhelpedRow:
    scores = [score(found, family, shipped_weights()) for found, family in right]
    names = [row.name for row in JUDGEMENTS if row.at_once]
    fallen = {each: mean([float(each in found.failed) for found, _ in right]) for each in names}
    return UnhelpedRow(name, len(right), mean([float(is_stuck) for is_stuck in stuck_flags(scores)]), fallen)


def intervals(pair: Pair, scores: Sequence[Score]) -> Iterator[str]:
    """Yields the 95 % intervals of the figures of one pair."""
    measures: dict[str, Measure] = {"apgr": apgr, "cpt80": lambda s, a, b: cpt(s, a, b, 0.8)}
    for name, measure in measures.items():
        low, high = interval(measure, [found.gain for found in scores], pair.small, pair.large)
        yield f"{name} {low:.3f} to {high:.3f}"


def main(arguments: Sequence[str]) -> None:
    pairs = pairs_named(arguments)
    alone = (
        f"\nright answers: the share that is stuck, and what judgements stop at once\n{'pair':36} {'right':>6}  stuck",
    )
    for line in chain(alone, map(str, unhelped_rows(pairs)), cuts(pairs), tables(pairs)):
        print(line, flush=True)
    for pair in pairs:
        if pair.small_model == "mixtral-8x7b" and pair.family == "math":
            print(f"\n{pair.name}, 95 %:", *intervals(pair, by_weights(pair, weights_without(pair, pairs))), sep="\n  ")


if __name__ == "__main__":
    main(sys.argv[1:])
