"""What a user's own answers add to the shipped weights: a cut on the expected gain, and small corrections."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any, Self

from ...core.errors import ConfigError
from .family import FAMILIES, Family
from .profile import Head, Profile, Weights

INTERCEPT, BESIDE = "intercept", "everywhere"
"""Names of corrections that are no signals: of the intercept, and of what counts in every family."""

Corrections = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Point:
    """One point of the curve: the share of answers that get help, and the mean quality then, with its 95 % interval."""

    help_rate: float
    quality: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """Answers whose gain is `cut` or more get help. `corrections` add to the shipped weights, by family and head.

    `help_rate` is the share of the answers that it was made of which get help, give or take `error`.
    """

    cut: float
    help_rate: float = 0.0
    error: float = 0.0
    corrections: Mapping[Family, Mapping[str, Corrections]] = field(default_factory=dict, hash=False)

    def applied(self, weights: Weights) -> Weights:
        families = {
            family: _corrected(profile, self.corrections[family]) if family in self.corrections else profile
            for family, profile in weights.families.items()
        }
        return Weights(families, weights.everywhere)

    def as_json(self) -> dict[str, Any]:
        """What a pair in the YAML carries."""
        kept = {
            family: {head: dict(by_name) for head, by_name in heads.items()}
            for family, heads in self.corrections.items()
        }
        return {"cut": self.cut, "help_rate": self.help_rate, "error": self.error, "corrections": kept}

    @classmethod
    def of_json(cls, data: Mapping[str, Any]) -> Self:
        """Raises `ConfigError` for what `as_json` never gave."""
        corrections = data.get("corrections") or {}
        if problem := _problem(data, corrections):
            said = f"The calibration has {problem}; take what `ai-battle calibrate` prints as it is."
            raise ConfigError(said, "calibration")
        return cls(float(data["cut"]), data.get("help_rate", 0.0), data.get("error", 0.0), corrections)


def _problem(data: Mapping[str, Any], corrections: Any) -> str:
    """What can't be used of a calibration; empty where all can."""
    names = corrections if isinstance(corrections, Mapping) else ()
    if unknown := [name for name in names if name not in FAMILIES]:
        return f"a family {unknown[0]!r}"
    for name in ("cut", "help_rate", "error"):
        if not _are_numbers(data.get(name, None if name == "cut" else 0.0), 0):
            return f"no number as its {name}"
    return "" if _are_numbers(corrections, 3) else "corrections that are not numbers by family, head and name"


def _are_numbers(value: Any, depth: int) -> bool:
    if depth:
        return isinstance(value, Mapping) and all(_are_numbers(each, depth - 1) for each in value.values())
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def _corrected(profile: Profile, corrections: Mapping[str, Corrections]) -> Profile:
    failure = _added(profile.failure, corrections.get("failure", {}))
    return replace(profile, failure=failure, rescue=_added(profile.rescue, corrections.get("rescue", {})))


def _added(head: Head, corrections: Corrections) -> Head:
    names = {*head.weights, *corrections} - {INTERCEPT, BESIDE}
    weights = {name: head.weights.get(name, 0.0) + corrections.get(name, 0.0) for name in sorted(names)}
    intercept, beside = (corrections.get(name, 0.0) for name in (INTERCEPT, BESIDE))
    return Head(head.intercept + intercept, weights, head.everywhere + beside)
