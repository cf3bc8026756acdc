"""Watches whether a pair loses more than promised; valid at any time and however often one looks."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from math import log
from typing import Any, Self

from ..judging.calibration import ALWAYS_HELP, Calibration
from ..judging.promise import digest
from .store import EvidenceStore

WATCHES, FALLBACKS = "watch", "fallback"
ALARM_WEALTH = 20.0
"""The wealth that raises the alarm: 1 / 0.05, so at most one watch in twenty ever raises a false one."""
TIMES = (1.5, 2.0, 3.0, 6.0)
"""The loss that each bet assumes, in multiples of the promised one."""
EARLY_VERDICTS = 10
"""The number of verdicts within which a change is most likely."""


@dataclass(frozen=True, slots=True)
class LossWatch:
    """Bets on each verdict that the average loss exceeds `promised`, which is profitable on average only if it does.

    So the chance that the wealth ever reaches `ALARM_WEALTH` is at most 5 %, however long it runs (Ville's inequality;
    see Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting", JRSS-B 2024). With each
    verdict new bets start, with a part of the wealth, as a pair may begin to lose more at any time. `alarm_at` is the
    verdict of the alarm, counted from 1; 0 before it.
    """

    promised: float
    seen: int = 0
    lost: float = 0.0
    bets: tuple[float, ...] = (0.0,) * len(TIMES)
    unspent: float = 1.0
    alarm_at: int = 0

    def record(self, loss: float) -> Self:
        """Returns the watch after a verdict: `loss` is 1 for a lost request, 0 for one that was not, or in between."""
        seen, stake = self.seen + 1, _stake(self.seen + 1)
        each = stake / len(TIMES)
        # A multiple of a large promise could exceed 1, so it is capped halfway between the promise and 1.
        bets = tuple(
            (bet + each) * _gain(min(times * self.promised, (1 + self.promised) / 2), self.promised, loss)
            for bet, times in zip(self.bets, TIMES, strict=True)
        )
        unspent = self.unspent - stake
        alarm_at = self.alarm_at or (seen if sum(bets) + unspent >= ALARM_WEALTH else 0)
        return replace(self, seen=seen, lost=self.lost + loss, bets=bets, unspent=unspent, alarm_at=alarm_at)

    @property
    def words(self) -> str:
        return (
            f"{self.lost:g} of {self.seen:,} answers were worse than the helper's would have been, and at most "
            f"{self.promised:.1%} of them may be"
        )


def record_loss(store: EvidenceStore, pair: str, key: str, promised: float, loss: float) -> LossWatch:
    """Records a verdict and returns the watch of that key over all processes. Raises `StoreError`."""

    def record(kept: Mapping[str, Any] | None) -> Mapping[str, Any]:
        before = _watch(kept) if kept else LossWatch(promised)
        return asdict(before.record(loss))

    return _watch(store.change(WATCHES, pair, key, record))


def find_watch(store: EvidenceStore, pair: str, key: str) -> LossWatch | None:
    """Returns the current watch. Raises `StoreError`."""
    kept = store.get(WATCHES, pair, key)
    return _watch(kept) if kept else None


@dataclass(frozen=True, slots=True)
class Fallback:
    """The calibration that decides about help after an alarm, in place of that of the cut `before`.

    `cut` is the key of its own watch.
    """

    before: str
    cut: str
    calibration: Calibration
    why: str


def keep_fallback(store: EvidenceStore, pair: str, watch: LossWatch, key: str, calibration: Calibration) -> Fallback:
    """Stores and returns the replacement for the cut `key`; if several processes do so, the first one counts."""
    made, why = calibration.as_json(), f"{watch.words}. {_consequence(calibration)}"
    document = {"before": key, "cut": digest([key, made]), "calibration": made, "why": why}
    return _fallback(store.change(FALLBACKS, pair, key, lambda kept: kept or document))


def find_fallback(store: EvidenceStore, pair: str, key: str) -> Fallback | None:
    """Returns the replacement for the cut `key`. Raises `StoreError`."""
    kept = store.get(FALLBACKS, pair, key)
    return _fallback(kept) if kept else None


def fallback_in_force(store: EvidenceStore, pair: str, key: str) -> Fallback | None:
    """Returns the fallback that replaces the cut `key`, or that has this cut itself. Raises `StoreError`."""
    kept = [_fallback(record.document) for record in store.records(FALLBACKS, pair)]
    return next((each for each in reversed(kept) if key in (each.before, each.cut)), None)


def _fallback(kept: Mapping[str, Any]) -> Fallback:
    return Fallback(**{**kept, "calibration": Calibration.of_json(kept["calibration"])})


def _consequence(calibration: Calibration) -> str:
    until = "from now on, until it is calibrated again: `ai-battle calibrate --from-shadow`"
    if calibration == ALWAYS_HELP:
        return f"Each of its answers gets help {until}."
    share = f"about {calibration.help_rate:.0%} of its answers get help"
    return f"The last safe cut holds {until}; {share}."


def _watch(kept: Mapping[str, Any]) -> LossWatch:
    return LossWatch(**{**kept, "bets": tuple(kept["bets"])})


def _gain(supposed: float, promised: float, loss: float) -> float:
    """Returns the factor of a bet: the likelihood ratio for a loss of 0 or 1, linear in between."""
    return 1 + (supposed - promised) / (promised * (1 - promised)) * (loss - promised)


def _stake(verdict: int) -> float:
    """Returns the part of the wealth that starts a bet at a verdict; over all verdicts these add up to less than 1."""
    first = 0.5 if verdict == 1 else 0.0
    return first + 0.5 * log(EARLY_VERDICTS) / ((verdict + EARLY_VERDICTS) * log(verdict + EARLY_VERDICTS) ** 2)
