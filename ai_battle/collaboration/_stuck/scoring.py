"""From signals to quality and gain."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from .case import Case
from .checks import measured
from .family import Family
from .hard import DOUBT, failed
from .profile import Weights

DECIMALS = 4


@dataclass(frozen=True, slots=True)
class Measured:
    """What the checks say of an answer, and which hard ones failed, each with its measure."""

    signals: Mapping[str, float] = field(hash=False)
    failed: Mapping[str, float] = field(hash=False)

    @property
    def shown(self) -> dict[str, float]:
        """All that speaks, the hard checks first."""
        return {name: round(value, DECIMALS) for name, value in {**self.failed, **self.signals}.items() if value}


@dataclass(frozen=True, slots=True)
class Score:
    """`standard` are the signals in the units of their weights."""

    quality: float
    gain: float
    measured: Measured
    standard: Mapping[str, float] = field(hash=False)

    @property
    def failed(self) -> Mapping[str, float]:
        return self.measured.failed


def measure(case: Case) -> Measured:
    signals = measured(case)
    return Measured(signals, failed(case, signals))


def score(found: Measured, family: Family, weights: Weights) -> Score:
    """An answer that is empty has no quality; every other hard check that fails leaves little of it."""
    profile = weights.families[family]
    standard = profile.standard(found.signals)
    doubt = beside(found, weights.everywhere)
    quality = 0.0 if "empty" in found.failed else profile.quality(standard, doubt)
    everywhere = {name: value for name, value in found.signals.items() if name in weights.everywhere and value}
    return Score(quality, profile.gain(standard, quality), found, {**standard, **everywhere})


def beside(found: Measured, everywhere: Mapping[str, float]) -> float:
    """What adds to the logit of failure in every family."""
    signals = sum(weight * found.signals[name] for name, weight in everywhere.items() if name in found.signals)
    return signals + (DOUBT if found.failed else 0.0)


def weights_of(weights: Weights, family: Family) -> dict[str, float]:
    """How much each signal adds to the logit of failure."""
    return {**weights.everywhere, **weights.families[family].failure.weights}
