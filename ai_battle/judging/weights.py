"""Turns the signals of an answer into its quality, the gain of help and a reason, with weights per family of tasks."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any, Self

from .family import FAMILIES, Family
from .judgements import HARD_CHECK_LOGIT, SENTENCES, Measurements, by_hand
from .regression import probability

FILE = "weights.json"
USUAL_SPREAD = 0.3
"""The assumed spread of a measure with a hand-set weight. It scales how far a calibration may move the weight."""
NEAREST, FARTHEST = -1.0, 4.0
"""The bounds of a signal in units of its spread. They are asymmetric since absence says less than presence."""


def standard(value: float, mean: float, spread: float) -> float:
    """Returns a measure in units of its spread. A hand-set weight has no mean and no bounds."""
    return value / spread if not mean else max(NEAREST, min(FARTHEST, (value - mean) / spread))


@dataclass(frozen=True, slots=True)
class Head:
    """A logit: intercept, weights per standardised signal, and the factor of failed hard checks."""

    intercept: float
    weights: Mapping[str, float] = field(hash=False)
    everywhere: float = 1.0


@dataclass(frozen=True, slots=True)
class Profile:
    """The weights of one family. `spread` has mean and standard deviation of each signal.

    `failure` is the logit of a wrong answer, `rescue` that of a helper being right then, `spoilt` how often a helper is
    wrong although this answer is right. `gains` are quantiles of the gain.
    """

    spread: Mapping[str, tuple[float, float]] = field(hash=False)
    failure: Head
    rescue: Head
    spoilt: float
    gains: tuple[float, ...] = ()

    def gain_of(self, help_rate: float) -> float:
        """Returns the gain that this share of the answers in the training data exceeds."""
        place = (1 - help_rate) * (len(self.gains) - 1)
        below = min(int(place), len(self.gains) - 2)
        return self.gains[below] + (place - below) * (self.gains[below + 1] - self.gains[below])

    def standard(self, signals: Mapping[str, float]) -> dict[str, float]:
        """Returns the signals in units of their spread. A signal that could not be measured is left out."""
        return {
            name: standard(signals[name], mean, spread)
            for name, (mean, spread) in self.spread.items()
            if name in signals
        }

    def quality(self, standard: Mapping[str, float], beside: float = 0.0) -> float:
        """Returns the probability that the answer is good; `beside` adds to the logit of failure."""
        return probability(-logit(self.failure, standard) - self.failure.everywhere * beside)

    def gain(self, standard: Mapping[str, float], quality: float) -> float:
        """Returns how much likelier a helper is right than an answer of this quality."""
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


WEIGHT_DECIMALS = 4
MAX_REASONS = 3
_AT_LEAST = 0.1


@dataclass(frozen=True, slots=True)
class Score:
    """The quality and gain of an answer; `weighed` is what each signal adds to the logit of failure."""

    quality: float
    gain: float
    failed: Mapping[str, float] = field(hash=False)
    weighed: Mapping[str, float] = field(hash=False)

    @property
    def reason(self) -> str:
        """The failed hard checks; otherwise the three signals that weigh most."""
        sayable = {name: value for name, value in self.weighed.items() if name in SENTENCES and value >= _AT_LEAST}
        names = [*self.failed] or sorted(sayable, key=lambda name: -sayable[name])
        return f"{'; '.join(SENTENCES[name] for name in names[:MAX_REASONS])}." if names else ""


def score(found: Measurements, family: Family, weights: Weights) -> Score:
    """Scores an answer. An empty one has quality 0; any other failed hard check leaves little quality."""
    profile = weights[family]
    standard = profile.standard(found.signals)
    quality = 0.0 if "empty" in found.failed else profile.quality(standard, HARD_CHECK_LOGIT if found.failed else 0.0)
    failure = profile.failure.weights
    weighed = {name: failure[name] * value for name, value in standard.items() if name in failure}
    return Score(quality, profile.gain(standard, quality), found.failed, weighed)


def signals_to_show(found: Measurements) -> dict[str, float]:
    """Returns the signals other than 0, the hard checks first."""
    return {name: round(value, WEIGHT_DECIMALS) for name, value in {**found.failed, **found.signals}.items() if value}
