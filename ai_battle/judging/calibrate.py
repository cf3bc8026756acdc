"""Calibrates a detector on your own answers, by a help rate without labels or by a target with labels."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from math import sqrt
from typing import Literal, Self, TypeVar

from ..core.errors import ConfigError
from .calibration import HARD_CHECKS, INTERCEPT, Calibration, Point, Rank, rank
from .case import Case
from .family import Family
from .judgements import HARD_CHECK_LOGIT, Measurements, measurements
from .labels import LEAST_LABELLED, LabelledAnswer, losses_of, require_both_kinds, require_labels, tested_places
from .measures import curve, intervals, lower_bounds, mean
from .promise import MOST_PROMPTS, Promise, digest, least_labels, safe_cut
from .regression import RegressionProblem, Term, fit
from .weights import Head, Score, Weights, score, shipped_weights

T = TypeVar("T")
LEAST, REFITS = 20, 50
"""The least answers for a help rate, and for corrections of weights."""
FOLDS = 5
STRENGTH: Mapping[str, float] = {"failure": 8.0, "rescue": 15.0}
INTERCEPT_STRENGTH, HARD_STRENGTH = 0.05, 4.0
Z_95 = 1.96
CURVE_POINTS = 20
UNREACHABLE_CUT = 1e9
"""A cut that no gain reaches."""
ONE_FAMILY: tuple[Family] = ("chat",)
"""The family of all answers if families are ignored."""
OWN_CUT = 5
"""A family gets its own cut if it has this many times the labels that a promise needs. Fewer would save little."""

Corrected = Mapping[Family, Mapping[str, Mapping[str, float]]]
Kind = Literal["help_rate", "quality", "max_cost", "pgr", "promise"]


@dataclass(frozen=True, slots=True)
class Target:
    """The target of a calibration.

    By `kind`, `value` is a share of helped answers, a mean quality, dollars per answer, a share of the helper's
    advantage, or the largest share of answers that may be lost, with a `confidence`. Dollars need the price of one
    answer of each model. `models` are the small and the large model that answered.
    """

    kind: Kind
    value: float
    own_price: float = 0.0
    helper_price: float = 0.0
    confidence: float = 0.95
    models: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MeasuredAnswer:
    """An answer with its measurements."""

    family: Family
    measurements: Measurements
    small: float
    large: float


@dataclass(frozen=True, slots=True)
class Report:
    """A calibration and the data behind it; `scores`, `small` and `large` are for plotting, in the same order."""

    calibration: Calibration
    labels: int
    refit: bool
    helps: bool = True
    note: str = ""
    curve: tuple[Point, ...] = ()
    scores: tuple[float, ...] = field(default=(), repr=False)
    small: tuple[float, ...] = field(default=(), repr=False)
    large: tuple[float, ...] = field(default=(), repr=False)
    lengths: tuple[int, ...] = field(default=(), repr=False)

    def with_curve(self, gains: Sequence[float], small: Sequence[float], large: Sequence[float]) -> Self:
        """Returns the report with the curve of quality over help; no gain may come from weights that saw its label."""
        points = tuple(curve_points(gains, small, large))
        return replace(self, curve=points, scores=tuple(gains), small=tuple(small), large=tuple(large))


def calibrate(answers: Sequence[LabelledAnswer], target: Target, weights: Weights | None = None) -> Report:
    """Calibrates for a target. Raises `ConfigError` for answers that can't support it."""
    weights = weights or shipped_weights()
    labelled = [answer for answer in answers if answer.is_labelled]
    if target.kind == "help_rate" and not labelled:
        return _by_quantile(answers, target.value, weights)
    require_labels(answers, labelled)
    if target.kind == "promise":
        return _by_promise(answers, target, weights)
    require_both_kinds(labelled)
    return _by_labels(labelled, target, weights)


def fitted_corrections(
    samples: Sequence[MeasuredAnswer], weights: Weights
) -> dict[Family, dict[str, dict[str, float]]]:
    """Returns corrections by family and head for families with enough labels. The prior is the shipped weights."""
    families = dict.fromkeys(sample.family for sample in samples)
    found = {family: [sample for sample in samples if sample.family == family] for family in families}
    return {family: _corrections(of, weights) for family, of in found.items() if len(of) >= REFITS}


def _corrections(samples: Sequence[MeasuredAnswer], weights: Weights) -> dict[str, dict[str, float]]:
    profile = weights[samples[0].family]
    wrong = [sample for sample in samples if sample.small <= 0.5]
    failure = _correction(samples, [1 - s.small for s in samples], profile.failure, "failure", weights)
    rescue = _correction(wrong, [s.large for s in wrong], profile.rescue, "rescue", weights)
    return {"failure": failure, "rescue": rescue}


def _correction(
    samples: Sequence[MeasuredAnswer], labels: Sequence[float], head: Head, name: str, weights: Weights
) -> dict[str, float]:
    """Returns the corrections of a head: the most likely coefficients less the shipped ones, which are the prior."""
    if not samples or not 0 < mean(labels) < 1:
        return {}
    terms = dict(_terms(samples, head, name, weights))
    found = fit(RegressionProblem(list(terms.values()), labels, [1.0] * len(samples)))
    changed = {each: round(value - term.prior, 4) for (each, term), value in zip(terms.items(), found, strict=True)}
    return {each: by for each, by in changed.items() if by}


def _terms(samples: Sequence[MeasuredAnswer], head: Head, name: str, weights: Weights) -> Iterator[tuple[str, Term]]:
    """Yields the terms that can be corrected: weights of signals, the intercept, and the weight of hard checks."""
    profile = weights[samples[0].family]
    standard = [profile.standard(sample.measurements.signals) for sample in samples]
    for each in profile.spread:
        column = [values.get(each, 0.0) for values in standard]
        yield each, Term(column, STRENGTH[name], head.weights.get(each, 0.0))
    yield INTERCEPT, Term([1.0] * len(samples), INTERCEPT_STRENGTH, head.intercept)
    offsets = [HARD_CHECK_LOGIT if name == "failure" and sample.measurements.failed else 0.0 for sample in samples]
    yield HARD_CHECKS, Term(offsets, HARD_STRENGTH, head.everywhere)


def _by_quantile(answers: Sequence[LabelledAnswer], rate: float, weights: Weights) -> Report:
    if len(answers) < LEAST:
        raise ConfigError(f"{len(answers)} answers are too few to find a help rate with; at least {LEAST} are needed.")
    gains = _gains(list(map(_sample, answers)), weights, {})
    return Report(
        cut_at(rate, _ranks(gains, answers), {}), 0, refit=False, scores=tuple(gains), lengths=lengths(answers)
    )


def _by_labels(labelled: Sequence[LabelledAnswer], target: Target, weights: Weights) -> Report:
    """Calibrates by labels. The curve uses scores by corrections that have not seen the answer."""
    samples = [_sample(answer) for answer in labelled]
    small, large = [each.small for each in samples], [each.large for each in samples]
    corrections = fitted_corrections(samples, weights)
    gains = _unseen_gains(labelled, samples, weights) if corrections else _gains(samples, weights, {})
    if helps := mean(large) > mean(small):
        rate = share_for(target, _ranks(gains, labelled), small, large)
        ranks = _ranks(_gains(samples, weights, corrections), labelled)
        calibration = cut_at(rate, ranks, corrections, target.kind)
    else:
        calibration = Calibration(UNREACHABLE_CUT, corrections=corrections)
    note = "" if helps else no_use(mean(small), mean(large))
    made = Report(calibration, len(labelled), bool(corrections), helps, note, lengths=lengths(labelled))
    return made.with_curve(gains, small, large)


def _by_promise(answers: Sequence[LabelledAnswer], target: Target, weights: Weights) -> Report:
    """Calibrates with the shipped weights: a test needs scores that have not seen its labels."""
    samples = [_sample(answer) for answer in answers]
    gains = _gains(samples, weights, {})
    tested = tested_places(answers, _ranks(gains, answers))
    answers, samples, gains = _at_places(answers, tested), _at_places(samples, tested), _at_places(gains, tested)
    small, large = [each.small for each in samples], [each.large for each in samples]
    families = [each.family for each in samples]
    made, promise = promised_cut(_ranks(gains, answers), losses_of(answers, small, large), target, answers, families)
    labels = sum(answer.is_labelled for answer in answers)
    report = Report(made.with_promise(promise), labels, refit=False, lengths=lengths(answers))
    return report.with_curve(gains, small, large) if labels == len(answers) else report


def _at_places(values: Sequence[T], places: Iterable[int]) -> list[T]:
    return [values[place] for place in places]


def promised_cut(
    ranks: Sequence[Rank],
    losses: Sequence[float | None],
    target: Target,
    answers: Sequence[LabelledAnswer],
    families: Sequence[Family] = (),
) -> tuple[Calibration, Promise]:
    """Returns the highest cuts for which the test supports the promise, and the promise. Raises `ConfigError`.

    `families` are those of the answers, if they differ; a family with enough labels has its own cut.
    """
    families = families or ONE_FAMILY * len(ranks)
    gain, tie_break, own = _cuts(ranks, losses, target, families)
    helped = [each >= own.get(family, (gain, tie_break)) for each, family in zip(ranks, families, strict=True)]
    share = mean(helped)
    lost = sum(loss or 0.0 for loss, is_helped in zip(losses, helped, strict=True) if not is_helped)
    promise = Promise(
        target.value,
        target.confidence,
        len(ranks),
        round(lost, 4),
        data=digest([[answer.prompt, answer.response] for answer in answers]),
        date=datetime.now(UTC).date().isoformat(),
        models=target.models,
        tools=tuple(sorted({tool.name for answer in answers for tool in answer.context.tools})),
        families=tuple(sorted(own)),
        prompts=_prompts(answers),
    )
    made = Calibration(gain, round(share, 4), _error(share, len(ranks)), tie_break=tie_break, families=own)
    return made, promise


def _prompts(answers: Sequence[LabelledAnswer]) -> tuple[str, ...]:
    found = {answer.system for answer in answers}
    return () if "" in found or len(found) > MOST_PROMPTS else tuple(sorted(found))


def _cuts(
    ranks: Sequence[Rank], losses: Sequence[float | None], target: Target, families: Sequence[Family]
) -> tuple[float, float, dict[Family, Rank]]:
    """Returns the shared cut, and the cuts of the families with enough labels of their own."""
    needed = least_labels(target.value, target.confidence)
    places = {family: [at for at, each in enumerate(families) if each == family] for family in dict.fromkeys(families)}

    def cut_of(of: Sequence[int]) -> Rank:
        known = [ranks[at] for at in of], [losses[at] for at in of]
        gain, lot = safe_cut(*known, target.value, target.confidence, (UNREACHABLE_CUT, 0.0))
        return gain, lot

    enough = OWN_CUT * needed
    own = {family: cut_of(of) for family, of in places.items() if len(ranks) > len(of) >= enough}
    others = [at for at, family in enumerate(families) if family not in own]
    return *cut_of(others if len(others) >= needed else range(len(ranks))), own


def _ranks(gains: Sequence[float], answers: Sequence[LabelledAnswer]) -> list[Rank]:
    return [rank(gain, answer.prompt, answer.response) for gain, answer in zip(gains, answers, strict=True)]


def _unseen_gains(
    labelled: Sequence[LabelledAnswer], samples: Sequence[MeasuredAnswer], weights: Weights
) -> list[float]:
    """Returns gains by corrections that have seen neither the answer nor a copy of it, whose label would leak."""
    gains = [0.0] * len(samples)
    folds = _folds(labelled)
    for fold in range(FOLDS):
        held = [place for place, of in enumerate(folds) if of == fold]
        others = [sample for sample, of in zip(samples, folds, strict=True) if of != fold]
        found = _gains([samples[place] for place in held], weights, fitted_corrections(others, weights))
        for place, gain in zip(held, found, strict=True):
            gains[place] = gain
    return gains


def _folds(labelled: Sequence[LabelledAnswer]) -> list[int]:
    """Returns the fold of each answer. Equal answers share one if there are enough different ones."""
    numbers: dict[tuple[str, str], int] = {}
    for answer in labelled:
        numbers.setdefault((answer.prompt, answer.response), len(numbers))
    if len(numbers) < LEAST_LABELLED:
        return [place % FOLDS for place in range(len(labelled))]
    return [numbers[answer.prompt, answer.response] % FOLDS for answer in labelled]


def share_for(target: Target, ranks: Sequence[Rank], small: Sequence[float], large: Sequence[float]) -> float:
    """Returns the least share of help that surely reaches the target, or the share that comes closest."""
    match target.kind:
        case "help_rate":
            return target.value
        case "max_cost":
            if target.helper_price <= 0:
                raise ConfigError("A target in dollars needs the price of one answer of the helper.")
            return max(0.0, min(1.0, (target.value - target.own_price) / target.helper_price))
        case "quality" | "pgr" | "promise":
            least = surpluses(target, ranks, small, large)
            first = next((place for place, surplus in least.items() if surplus >= 0), None)
            return (max(least, key=lambda place: least[place]) if first is None else first) / len(ranks)


def surpluses(
    target: Target, ranks: Sequence[tuple[float, ...]], small: Sequence[float], large: Sequence[float]
) -> dict[int, float]:
    """Returns the lower bound by which the target is exceeded, by number of helped answers."""
    wanted = [target.value] * len(ranks)
    if target.kind == "pgr":
        wanted = [own + target.value * (other - own) for own, other in zip(small, large, strict=True)]
    before, after = ([each - least for each, least in zip(of, wanted, strict=True)] for of in (small, large))
    return lower_bounds(ranks, before, after)


def cut_at(rate: float, ranks: Sequence[Rank], corrections: Corrected, kind: Kind = "help_rate") -> Calibration:
    """Returns the rank that this share of the answers reaches. Only equal answers have the same rank.

    A limit in dollars allows no larger share, and a quality no smaller one.
    """
    ordered = sorted(ranks)
    candidates = [*dict.fromkeys(ordered), (ordered[-1][0] + 1e-5, 0.0)]
    shares = {cut: 1 - bisect_left(ordered, cut) / len(ordered) for cut in candidates}
    least = rate - 1e-9 if kind in ("quality", "pgr") else 0.0
    most = rate + 1e-9 if kind == "max_cost" else 1.0
    allowed = [cut for cut in candidates if least <= shares[cut] <= most]
    cut = min(allowed, key=lambda each: abs(shares[each] - rate))
    gain, tie_break = cut
    return Calibration(
        round(gain, 6), round(shares[cut], 4), _error(rate, len(ranks)), corrections, tie_break=tie_break
    )


def _error(share: float, answers: int) -> float:
    """Returns the 95 % margin of error of a share."""
    return round(Z_95 * sqrt(share * (1 - share) / answers), 4)


def curve_points(gains: Sequence[float], small: Sequence[float], large: Sequence[float]) -> list[Point]:
    shares = [part / CURVE_POINTS for part in range(CURVE_POINTS + 1)]

    def at_shares(s: Sequence[float], a: Sequence[float], b: Sequence[float]) -> list[float]:
        reached = curve(s, a, b)
        return [_value_at(reached, share) for share in shares]

    bands = intervals(at_shares, gains, small, large)
    reached = at_shares(gains, small, large)
    return [Point(share, value, *band) for share, value, band in zip(shares, reached, bands, strict=True)]


def _value_at(reached: Sequence[float], share: float) -> float:
    return reached[round(share * (len(reached) - 1))]


def ranks_of(answers: Sequence[LabelledAnswer]) -> list[Rank]:
    """Returns the ranks by which a pair with one small model sends answers on for help."""
    return _ranks(_gains([*map(_sample, answers)], shipped_weights(), {}), answers)


def _gains(samples: Sequence[MeasuredAnswer], weights: Weights, corrections: Corrected) -> list[float]:
    own = Calibration(0.0, corrections=corrections).apply_to(weights)
    return [_gain(score(sample.measurements, sample.family, own)) for sample in samples]


def _gain(found: Score) -> float:
    """Returns the gain. An answer that fails a hard check comes first, as it gets help in any case."""
    return found.gain + 1 if found.failed else found.gain


def _sample(answer: LabelledAnswer) -> MeasuredAnswer:
    case = Case(answer.response, answer.prompt, answer.context)
    return MeasuredAnswer(case.family, measurements(case), answer.good or 0.0, answer.helper_good or 0.0)


def no_use(small: float, large: float) -> str:
    return (
        f"The helper is right in {large:.1%} of these cases and the small model in {small:.1%}: "
        "asking it brings nothing, so the cut lets no answer get help."
    )


def lengths(answers: Sequence[LabelledAnswer]) -> tuple[int, ...]:
    return tuple(len(answer.response) for answer in answers)
