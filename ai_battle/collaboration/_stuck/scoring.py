"""From what was measured to quality, gain, and a sentence."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from .family import Family
from .judgements import DOUBT, SENTENCES, Measured
from .profile import Weights

DECIMALS = 4
MOST = 3
_AT_LEAST = 0.1


@dataclass(frozen=True, slots=True)
class Score:
    """`weighed` is what each signal adds to the logit of failure."""

    quality: float
    gain: float
    failed: Mapping[str, float] = field(hash=False)
    weighed: Mapping[str, float] = field(hash=False)

    @property
    def reason(self) -> str:
        """The hard checks that failed; else the signals that weigh most, at most three."""
        told = {name: value for name, value in self.weighed.items() if name in SENTENCES and value >= _AT_LEAST}
        names = [*self.failed] or sorted(told, key=lambda name: -told[name])
        return f"{'; '.join(SENTENCES[name] for name in names[:MOST])}." if names else ""


def score(found: Measured, family: Family, weights: Weights) -> Score:
    """An answer that is empty has no quality; every other hard check that fails leaves little of it."""
    profile = weights.families[family]
    standard = profile.standard(found.signals)
    quality = 0.0 if "empty" in found.failed else profile.quality(standard, DOUBT if found.failed else 0.0)
    failure = profile.failure.weights
    weighed = {name: failure[name] * value for name, value in standard.items() if name in failure}
    return Score(quality, profile.gain(standard, quality), found.failed, weighed)


def shown(found: Measured) -> dict[str, float]:
    """All that speaks, the hard checks first."""
    return {name: round(value, DECIMALS) for name, value in {**found.failed, **found.signals}.items() if value}
