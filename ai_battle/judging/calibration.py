"""A calibration on a user's own answers: a cut on the expected gain, and corrections of the shipped weights."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from math import isfinite
from typing import Any, Self
from zlib import crc32

from ..core.errors import ConfigError
from .family import FAMILIES, Family
from .promise import Promise
from .regression import LogisticModel
from .weights import Head, Profile, Weights

INTERCEPT, HARD_CHECKS = "intercept", "everywhere"
"""Names of corrections other than signals: of the intercept, and of failed hard checks."""
EDITED_BY_HAND = (
    "The calibration was changed after it was made, so its promise no longer holds: calibrate again with --promise, or "
    "take 'promise' out of it."
)
OPTIONAL, NUMBERS = ("help_rate", "error", "tie_break"), ("cut", "bias", "tie_break")

Corrections = Mapping[str, float]
Rank = tuple[float, float]


def rank(score: float, prompt: str, answer: str) -> Rank:
    """Orders answers by score. Equal scores are ordered by a hash of the texts, so equal answers get equal ranks."""
    drawn = crc32(f"{prompt}\0{answer}".encode("utf-8", "surrogatepass"))
    return round(score, 6), round(drawn / 2**32, 6)


@dataclass(frozen=True, slots=True)
class Point:
    """A point of the curve: the share of helped answers and the mean quality at it, with its 95 % interval."""

    help_rate: float
    quality: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Agreement:
    """Decides when several answers to one request need a helper: if their score reaches `cut`.

    Answers exactly at the cut need one if their hash is `tie_break` or more.
    """

    cut: float
    weights: LogisticModel
    tie_break: float = 0.0

    def doubts(self, known: Mapping[str, float], prompt: str, answer: str) -> bool:
        return rank(self.score(known), prompt, answer) >= (round(self.cut, 6), self.tie_break)

    def score(self, known: Mapping[str, float]) -> float:
        """Returns the score. Missing features count as 0."""
        return self.weights.score({name: known.get(name, 0.0) for name in self.weights.features})

    def as_json(self) -> dict[str, Any]:
        features = {name: list(scale) for name, scale in self.weights.features.items()}
        made = {"cut": self.cut, "bias": self.weights.bias, "features": features}
        return {**made, "tie_break": self.tie_break} if self.tie_break else made

    @classmethod
    def of_json(cls, data: Mapping[str, Any]) -> Self:
        features = {name: (mean, deviation, weight) for name, (mean, deviation, weight) in data["features"].items()}
        return cls(data["cut"], LogisticModel(data["bias"], features), data.get("tie_break", 0.0))


@dataclass(frozen=True, slots=True)
class Calibration:
    """Gives help to answers whose gain reaches `cut`. `corrections` add to the shipped weights.

    Answers exactly at the cut get help if their hash (see `rank`) is `tie_break` or more. `families` have their own
    such ranks. `help_rate` is the share of answers that get help in the data it was made from, give or take `error`. If
    several models answer, `agreement` decides instead of the cut. `promise` states what may be lost.
    """

    cut: float
    help_rate: float = 0.0
    error: float = 0.0
    corrections: Mapping[Family, Mapping[str, Corrections]] = field(default_factory=dict, hash=False)
    agreement: Agreement | None = None
    tie_break: float = 0.0
    promise: Promise | None = None
    families: Mapping[Family, Rank] = field(default_factory=dict, hash=False)

    def helps(self, gain: float, family: Family, prompt: str, answer: str) -> bool:
        return rank(gain, prompt, answer) >= self.families.get(family, (round(self.cut, 6), self.tie_break))

    def apply_to(self, weights: Weights) -> Weights:
        made = {family: _corrected_profile(weights[family], heads) for family, heads in self.corrections.items()}
        return {**weights, **made}

    def as_json(self) -> dict[str, Any]:
        """Returns the mapping that a pair in the YAML carries."""
        kept = {
            family: {head: dict(by_name) for head, by_name in heads.items()}
            for family, heads in self.corrections.items()
        }
        made = {"cut": self.cut, "help_rate": self.help_rate, "error": self.error, "corrections": kept}
        made |= {"tie_break": self.tie_break} if self.tie_break else {}
        made |= {"agreement": self.agreement.as_json()} if self.agreement else {}
        made |= {"families": {family: list(cut) for family, cut in self.families.items()}} if self.families else {}
        return {**made, "promise": asdict(self.promise)} if self.promise else made

    def with_promise(self, promise: Promise) -> Self:
        return replace(self, promise=promise.with_seal(replace(self, promise=None).as_json()))

    @classmethod
    def of_json(cls, data: Mapping[str, Any]) -> Self:
        """Reads a calibration. Raises `ConfigError` for invalid data, and for a promise about other values."""
        corrections = data.get("corrections") or {}
        if problem := _problem(data, corrections):
            message = f"The calibration has {problem}; take what `ai-battle calibrate` prints as it is."
            raise ConfigError(message, "calibration")
        agreement = Agreement.of_json(data["agreement"]) if data.get("agreement") else None
        rate, error, tie_break = (data.get(name, 0.0) for name in OPTIONAL)
        made = cls(float(data["cut"]), rate, error, corrections, agreement, tie_break, families=_families(data))
        promise = Promise.of_json(data["promise"]) if data.get("promise") else None
        if promise and not promise.fits(made.as_json()):
            raise ConfigError(EDITED_BY_HAND, "calibration")
        return replace(made, promise=promise)


ALWAYS_HELP = Calibration(-1e9, help_rate=1.0)
"""A cut that every gain reaches, so that each answer gets help."""


def _problem(data: Mapping[str, Any], corrections: Any) -> str:
    """Returns what is invalid in a calibration, or ""."""
    if isinstance(corrections, Mapping) and (unknown := [*(corrections.keys() - {*FAMILIES})]):
        return f"a family {unknown[0]!r}"
    if not _are_ranks(data.get("families") or {}):
        return "cuts of families that can't be used"
    if name := _no_number_in(data):
        return f"no number as its {name}"
    if not _are_numbers(corrections, 3):
        return "corrections that are not numbers by family, head and name"
    return "" if _is_agreement(data.get("agreement")) else "an agreement that can't be used"


def _no_number_in(data: Mapping[str, Any]) -> str:
    numbers = {**dict.fromkeys(OPTIONAL, 0.0), **data}
    return next((name for name in ("cut", *OPTIONAL) if not _are_numbers(numbers.get(name), 0)), "")


def _families(data: Mapping[str, Any]) -> Mapping[Family, Rank]:
    return {family: (cut, lot) for family, (cut, lot) in (data.get("families") or {}).items()}


def _are_ranks(value: Any) -> bool:
    is_by_family = isinstance(value, Mapping) and value.keys() <= {*FAMILIES}
    return is_by_family and all(_are_listed(rank_, 2) for rank_ in value.values())


def _is_agreement(value: Any) -> bool:
    if not value:
        return True
    if not isinstance(value, Mapping) or not isinstance(features := value.get("features"), Mapping):
        return False
    numbers = {"tie_break": 0.0, **value}
    # The second number of a feature is its deviation, by which values are divided.
    divides = all(_are_listed(scale, 3) and scale[1] != 0 for scale in features.values())
    return divides and all(_are_numbers(numbers.get(name), 0) for name in NUMBERS)


def _are_listed(value: Any, count: int) -> bool:
    return isinstance(value, list | tuple) and len(value) == count and all(_are_numbers(each, 0) for each in value)


def _are_numbers(value: Any, depth: int) -> bool:
    if depth:
        return isinstance(value, Mapping) and all(_are_numbers(each, depth - 1) for each in value.values())
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def _corrected_profile(profile: Profile, corrections: Mapping[str, Corrections]) -> Profile:
    failure = _corrected_head(profile.failure, corrections.get("failure", {}))
    return replace(profile, failure=failure, rescue=_corrected_head(profile.rescue, corrections.get("rescue", {})))


def _corrected_head(head: Head, corrections: Corrections) -> Head:
    names = {*head.weights, *corrections} - {INTERCEPT, HARD_CHECKS}
    weights = {name: head.weights.get(name, 0.0) + corrections.get(name, 0.0) for name in sorted(names)}
    intercept, beside = (corrections.get(name, 0.0) for name in (INTERCEPT, HARD_CHECKS))
    return Head(head.intercept + intercept, weights, head.everywhere + beside)
