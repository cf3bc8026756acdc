"""Weights of the signals, one profile per family of tasks: from what was measured to quality, gain and a reason."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any, Self

from .family import FAMILIES, Family
from .judgements import DOUBT, SENTENCES, Measurements, by_hand
from .regression import probability

FILE = "weights.json"
USUAL_SPREAD = 0.3
"""Of a measure whose weight is set by hand: what a calibration may move its weight by depends on it."""
NEAREST, FARTHEST = -1.0, 4.0
"""Where signals end, in units of their spread: what is missing speaks less than what is there."""


def standard(value: float, mean: float, spread: float) -> float:
    """Returns a measure in units of its spread; one whose weight is set by hand has no mean and no bounds."""
    return value / spread if not mean else max(NEAREST, min(FARTHEST, (value - mean) / spread))


@dataclass(frozen=True, slots=True)
class Head:
    """A logit: its intercept, the weights of signals in units of their spread, and that of failed hard checks."""

    intercept: float
    weights: Mapping[str, float] = field(hash=False)
    everywhere: float = 1.0


@dataclass(frozen=True, slots=True)
class Profile:
    """`spread` has mean and standard deviation of each signal. `failure`: this answer is wrong; `rescue`: if so, a
    helper is right; `spoilt` is how often a helper is wrong where this answer is right; `gains` are quantiles.
    """

    spread: Mapping[str, tuple[float, float]] = field(hash=False)
    failure: Head
    rescue: Head
    spoilt: float
    gains: tuple[float, ...] = ()

    def gain_of(self, help_rate: float) -> float:
        """The gain above which so many answers of those that were learned on lie."""
        place = (1 - help_rate) * (len(self.gains) - 1)
        below = min(int(place), len(self.gains) - 2)
        return self.gains[below] + (place - below) * (self.gains[below + 1] - self.gains[below])

    def standard(self, signals: Mapping[str, float]) -> dict[str, float]:
        """Signals in units of their spread; what could not be measured says nothing."""
        return {
            name: standard(signals[name], mean, spread)
            for name, (mean, spread) in self.spread.items()
            if name in signals
        }

    def quality(self, standard: Mapping[str, float], beside: float = 0.0) -> float:
        """Returns how likely the answer is good; `beside` adds to the logit of its failure."""
        return probability(-logit(self.failure, standard) - self.failure.everywhere * beside)

    def gain(self, standard: Mapping[str, float], quality: float) -> float:
        """Returns how much more likely a helper is right than an answer of this quality."""
        return (1 - quality) * probability(logit(self.rescue, standard)) - quality * self.spoilt

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Self:
        spread = {name: (mean, width) for name, (mean, width) in data["spread"].items()}
        return cls(spread, Head(**data["failure"]), Head(**data["rescue"]), data["spoilt"], tuple(data["gains"]))


Weights = Mapping[Family, Profile]


def logit(head: Head, standard: Mapping[str, float]) -> float:
    return head.intercept + sum(weight * standard[name] for name, weight in head.weights.items() if name in standard)


@cache
def shipped_weights() -> Weights:
    return read(files(__package__).joinpath(FILE).read_text(encoding="utf-8"))


def read(text: str) -> Weights:
    """The weights of a file as the learning script writes it."""
    data = json.loads(text)["families"]
    return {family: with_hand(Profile.read(data[family]), family) for family in FAMILIES}


def with_hand(profile: Profile, family: Family) -> Profile:
    """Returns the profile with the table's weights for what was not learned."""
    added = {name: weight for name, weight in by_hand(family).items() if name not in profile.spread}
    failure = {**profile.failure.weights, **{name: weight * USUAL_SPREAD for name, weight in added.items()}}
    spread = {**profile.spread, **dict.fromkeys(added, (0.0, USUAL_SPREAD))}
    return replace(profile, spread=spread, failure=replace(profile.failure, weights=failure))


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
        sayable = {name: value for name, value in self.weighed.items() if name in SENTENCES and value >= _AT_LEAST}
        names = [*self.failed] or sorted(sayable, key=lambda name: -sayable[name])
        return f"{'; '.join(SENTENCES[name] for name in names[:MOST])}." if names else ""


def score(found: Measurements, family: Family, weights: Weights) -> Score:
    """An answer that is empty has no quality; every other hard check that fails leaves little of it."""
    profile = weights[family]
    standard = profile.standard(found.signals)
    quality = 0.0 if "empty" in found.failed else profile.quality(standard, DOUBT if found.failed else 0.0)
    failure = profile.failure.weights
    weighed = {name: failure[name] * value for name, value in standard.items() if name in failure}
    return Score(quality, profile.gain(standard, quality), found.failed, weighed)


def signals_to_show(found: Measurements) -> dict[str, float]:
    """Returns the signals that speak, the hard checks first."""
    return {name: round(value, DECIMALS) for name, value in {**found.failed, **found.signals}.items() if value}
