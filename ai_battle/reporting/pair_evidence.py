"""Sums up what the shadow of a pair has found: losses, savings, their certainty, and the requests that were lost."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import fsum
from statistics import fmean
from typing import Any, TypeAlias

from ..benchmark.intervals import mean_interval, wilson
from ..core.texts import one_line
from ..evidence.store import EvidenceStore
from ..evidence.trials import DAYS, TRIALS, ShadowTrial, read_trials
from ..evidence.versions import CalibrationVersion, read_versions
from ..evidence.watch import Fallback, LossWatch, fallback_in_force, find_watch
from .figures import count_of, dollars

Weighted: TypeAlias = Sequence[tuple[float, float]]
"""Values, each with the number of requests that it represents."""
ALL_FAMILIES = "all"
MIN_TRIALS = 30
"""Fewer comparisons than this do not allow a verdict."""
INCONSISTENT_SHARE = 0.2
"""The share of comparisons that may change when the answers are swapped before the judge counts as unreliable."""
MOST_LOST, EXCERPT = 20, 100
HEAD = ("", "compared", "better", "as good", "worse", "helped", "needlessly", "lost, with its 95 % interval")
"""Better, as good and worse count answers that the small model gave alone."""
NOT_COMPARED = {
    "dropped": "too many waited already",
    "used_tools": "tools were used on the way",
    "timed_out": "it took too long",
    "failed": "the other model or the judge failed",
    "unpaid": "the budget of the day was used up",
    "unkept": "the store could not be written",
}


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over all requests with its 95 % confidence interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class FamilyEvidence:
    """Evidence on one family of requests, or on all; `loss` is the share with a worse answer than the helper's.

    `wins`, `ties` and `losses` count requests that the small model answered alone; of the `helped` ones it would have
    answered the `needless` ones as well. Savings are per request, compared with the helper alone.
    """

    family: str
    trials: int
    wins: int
    ties: int
    losses: int
    helped: int
    needless: int
    loss: Estimate
    saved_usd: Estimate | None
    saved_seconds: Estimate | None


@dataclass(frozen=True, slots=True)
class LostRequest:
    """A request that the helper would have answered better, with its id in the store and an excerpt."""

    id: str
    family: str
    prompt: str
    reason: str


@dataclass(frozen=True, slots=True)
class PairEvidence:
    """All evidence on a pair; `counts` holds requests by what became of them, and dollars (`usd`).

    Only comparisons since the pair's last calibration count in `families`: about the share `since` of all requests.
    """

    pair: str
    counts: Mapping[str, float]
    families: Sequence[FamilyEvidence]
    unsteady: float
    lost: Sequence[LostRequest]
    watch: LossWatch | None = None
    advised: int = 0
    fallback: Fallback | None = None
    versions: Sequence[CalibrationVersion] = ()
    compared: int = 0
    since: float = 1.0

    @property
    def whole(self) -> FamilyEvidence | None:
        return next((each for each in self.families if each.family == ALL_FAMILIES), None)

    @property
    def verdict(self) -> str:
        """A sentence on whether the pair is safe to use."""
        if self.fallback:
            return f"No: {self.fallback.why}"
        whole = self.whole
        if not whole or whole.trials < MIN_TRIALS:
            trials = count_of(whole.trials if whole else 0, "comparison")
            return f"Not known yet: {trials}, and {MIN_TRIALS} are the least."
        if self.unsteady > INCONSISTENT_SHARE:
            return (
                f"Not known: in {self.unsteady:.0%} of the comparisons the judge decided otherwise when the answers "
                "were swapped; name another judge."
            )
        if not self.watch:
            return f"In at most {whole.loss.high:.1%} of the requests the helper would have done better."
        return _safety(whole.loss, self.watch.promised)

    def to_json(self) -> dict[str, Any]:
        return {
            "pair": self.pair,
            "verdict": self.verdict,
            "promised": self.watch and self.watch.promised,
            "alarm": self.fallback is not None,
            "counts": dict(self.counts),
            "compared": self.compared,
            "unsteady": self.unsteady,
            "advised": self.advised,
            "families": [*map(asdict, self.families)],
            "lost": [*map(asdict, self.lost)],
            "versions": [version.to_json() for version in self.versions],
        }

    @property
    def lines(self) -> Iterator[str]:
        """Yields the evidence as text for people."""
        yield self.pair
        yield f"  {self.verdict}"
        yield from (f"  {line}" for line in self._coverage)
        if self.versions:
            yield f"  It calibrates itself, by {self.versions[-1].words}."
        if whole := self.whole:
            yield from ("", _row(HEAD), *map(_row, map(_cells, self.families)), "")
            yield from _saving_lines(whole, self.since * self.counts.get("requests", 0))
        if self.lost:
            yield from ("", f"  Lost, the last {len(self.lost)}:")
        for each in self.lost:
            yield f"    {each.id}  {each.family:<4}  {each.prompt}"
            if each.reason:
                yield f"{' ' * 28}{each.reason}"

    @property
    def _coverage(self) -> Iterator[str]:
        counts, whole = self.counts, self.whole
        newest = whole.trials if whole else 0
        spent = f", which cost {dollars(counts.get('usd', 0.0))}"
        yield f"{self.compared:,} of {int(counts.get('requests', 0)):,} requests were compared{spent}."
        if newest < self.compared:
            yield f"Only those since its last calibration count: {newest:,}."
        missed = [f"{int(counts[name])} ({why})" for name, why in NOT_COMPARED.items() if counts.get(name)]
        if missed:
            yield f"Drawn and not compared: {', '.join(missed)}."
        if self.advised:
            yield (
                f"Of {self.advised:,} that were helped it is not known whether they were lost, as the small model may "
                "have written the answer; they count as not lost."
            )


def pair_evidence(store: EvidenceStore, pair: str) -> PairEvidence:
    """Returns the evidence since the pair's last calibration. Raises `StoreError`.

    After an alarm, requests lost before it are among the lost ones.
    """
    found = read_trials(store, pair)
    cut = found[-1][1].cut if found else ""
    fallback = fallback_in_force(store, pair, cut)
    cuts = (cut, fallback.before) if fallback else (cut,)
    newest = {record.key: trial for record, trial in found if trial.cut in cuts}
    trials = [trial for trial in newest.values() if trial.cut == cut]
    counts = _daily_counts(store, pair)
    unsteady = sum(not trial.is_steady for trial in trials) / max(1, len(trials))
    watch = find_watch(store, pair, cut)
    advised = sum(trial.is_advised for trial in trials)
    lost = [*_lost_requests(newest)]
    versions = read_versions(store, pair)
    share = _share(trials, [trial for _, trial in found])
    return PairEvidence(
        pair, counts, [*_families(trials)], unsteady, lost, watch, advised, fallback, versions, len(found), share
    )


def _share(trials: Iterable[ShadowTrial], every: Iterable[ShadowTrial]) -> float:
    """Returns the share of the requests behind all comparisons that these represent, or 1 if there are none."""
    of_all = fsum(trial.weight for trial in every)
    return fsum(trial.weight for trial in trials) / of_all if of_all else 1.0


def _daily_counts(store: EvidenceStore, pair: str) -> Counter[str]:
    counts: Counter[str] = Counter()
    for day in store.records(DAYS, pair):
        counts.update(day.document)
    return counts


def _lost_requests(trials: dict[str, ShadowTrial]) -> Iterator[LostRequest]:
    """Yields the most recent lost requests, newest first, from trials by their ids."""
    lost = [(key, trial) for key, trial in reversed(trials.items()) if trial.is_lost]
    for key, trial in lost[:MOST_LOST]:
        yield LostRequest(key, trial.family, one_line(trial.prompt, EXCERPT), one_line(trial.reason, EXCERPT))


def _safety(loss: Estimate, promised: float) -> str:
    """Returns a sentence on whether no more is lost than allowed."""
    allowed = f"and {promised:.1%} may be"
    if loss.high <= promised:
        return f"Yes: at most {loss.high:.1%} are lost, {allowed}."
    if loss.low > promised:
        return f"No: at least {loss.low:.1%} are lost, {allowed}."
    return f"Not known yet: from {loss.low:.1%} to {loss.high:.1%} are lost, {allowed}."


def read_evidence(store: EvidenceStore) -> Sequence[PairEvidence]:
    """Returns the evidence of each pair that has any. Raises `StoreError`."""
    return [pair_evidence(store, pair) for pair in sorted({*store.pairs(TRIALS), *store.pairs(DAYS)})]


def _families(trials: Sequence[ShadowTrial]) -> Iterator[FamilyEvidence]:
    names = sorted({trial.family for trial in trials})
    for name in (*([ALL_FAMILIES] if trials else ()), *(names if len(names) > 1 else ())):
        yield family_evidence(name, [trial for trial in trials if name in (ALL_FAMILIES, trial.family)])


def family_evidence(name: str, trials: Sequence[ShadowTrial]) -> FamilyEvidence:
    """Sums up one or more trials."""
    alone = Counter(trial.outcome for trial in trials if not trial.helped)
    helped = Counter(trial.outcome for trial in trials if trial.helped)
    return FamilyEvidence(
        name,
        len(trials),
        alone["win"],
        alone["tie"],
        alone["loss"],
        helped.total(),
        helped.total() - helped["loss"],
        _rate_estimate([(float(trial.is_lost), trial.weight) for trial in trials]),
        _estimate([(trial.saved_usd, trial.weight) for trial in trials]),
        _estimate([(trial.saved_seconds, trial.weight) for trial in trials]),
    )


def _weighted_mean(values: Weighted) -> float:
    return fsum(weight * value for value, weight in values) / fsum(weight for _, weight in values)


def _rate_estimate(values: Weighted) -> Estimate:
    """Returns Wilson's interval for the effective sample size of the weighted values (Kish, 1965)."""
    weights, rate = [weight for _, weight in values], _weighted_mean(values)
    effective = fsum(weights) ** 2 / fsum(weight**2 for weight in weights)
    return Estimate(rate, *wilson(rate * effective, effective))


def _estimate(found: Iterable[tuple[float | None, float]]) -> Estimate | None:
    """Returns the weighted mean; its interval is that of values scaled around it by their weights."""
    values = [(value, weight) for value, weight in found if value is not None]
    if not values:
        return None
    mean, usual = _weighted_mean(values), fmean(weight for _, weight in values)
    return Estimate(mean, *mean_interval([mean + weight / usual * (value - mean) for value, weight in values]))


def _cells(each: FamilyEvidence) -> Sequence[str]:
    numbers = each.trials, each.wins, each.ties, each.losses, each.helped, each.needless
    loss = f"{each.loss.value:.1%} ({each.loss.low:.1%} to {each.loss.high:.1%})"
    return (each.family, *(f"{number:,}" for number in numbers), loss)


def _row(cells: Sequence[str]) -> str:
    name, *numbers, lost = cells
    return f"  {name:<6}{''.join(f'{number:>12}' for number in numbers)}   {lost}"


def _saving_lines(whole: FamilyEvidence, requests: float) -> Iterator[str]:
    if usd := whole.saved_usd:
        yield f"  Dollars saved {_interval(usd, 5)}, in all {usd.value * requests:.2f}."
    else:
        yield "  Dollars saved are not known, as a price is not; write it under prices:."
    if seconds := whole.saved_seconds:
        yield f"  Seconds saved {_interval(seconds, 2)}."


def _interval(each: Estimate, digits: int) -> str:
    rounded = (round(number, digits) + 0.0 for number in (each.value, each.low, each.high))  # no -0.0
    numbers = (f"{number:.{digits}f}" for number in rounded)
    return "a request against the helper alone: {} ({} to {})".format(*numbers)
