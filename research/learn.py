"""Learns the shipped weights: `python -m research.learn DIR [WITHOUT_MODEL FILE]`.

The weights are learned only from data whose licence allows it. Families without such data, or with too little, have
weights set by hand.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from math import log
from pathlib import Path
from typing import Any

from ai_battle.core.errors import ConfigError
from ai_battle.judging.assessment import NO_CONTEXT
from ai_battle.judging.case import Case
from ai_battle.judging.family import FAMILIES, Family
from ai_battle.judging.judgements import Measurements, by_hand, measurements, to_learn
from ai_battle.judging.measures import mean
from ai_battle.judging.regression import RegressionProblem, Term, fit
from ai_battle.judging.weights import FILE, Head, Profile, logit, standard, with_hand
from research.everyday import everyday_answers
from research.records import Pair, read_pairs

STRENGTH, RESCUE_STRENGTH, OFFSET_STRENGTH, KEPT = 30.0, 100.0, 0.01, 1e9
NOTHING: Mapping[str, float] = {}
ROWS, QUANTILES = 800, 20
Spread = Mapping[str, tuple[float, float]]
LICENSED = ("gsm8k", "math-l5", "crux", "mmlu-pro")
ASSUMED: Mapping[Family, float] = {"math": -1.1, "mcq": -0.8, "code": -1.2, "tool": -2.3, "chat": -1.8}
"""The assumed logit of failure of an average answer, as the quality of a model is unknown without labels."""
CHANCE = (0.0, 0.02, 0.04, 0.06, 0.08, 0.1, 0.12, 0.15, 0.2, 0.3, 0.6)
"""Quantiles of the gain of families without measurements."""
SPOILT, RESCUED = 0.05, 1.0
"""The assumed share of right answers on which a helper is wrong, and its logit of being right on wrong ones."""
GUARDS = 0.5
"""The number of pairs whose weight the right everyday answers have."""
STUCK, STUCK_GUARDS, ABLE = 0.07, 0.02, 0.6
"""The most right answers that may be stuck at the defaults, of models right in `ABLE` or more, and everyday ones."""
AT_DEFAULT = -log(0.7 / 0.3)
"""The logit of failure at which an answer is stuck at the default threshold."""
LEAST_RIGHT = 10
"""The number of right answers on which a judgement must speak to get a weight.

A judgement that speaks on none could just as well be a habit of right answers.
"""


def learn_profile(pairs: Sequence[Pair], family: Family, without: str = "") -> Profile:
    """Returns the profile of a family.

    Each pair counts the same and has an offset of its own, so that models are not compared. Failure is learned from the
    large models' answers too, except from those of the model `without`. Everyday answers of each form count as right
    and wrong alike, so that the form of an answer gets no weight.
    """
    if not pairs:
        return Profile({}, Head(ASSUMED[family], {}), Head(RESCUED, {}), SPOILT, CHANCE)
    everyone = (*pairs, *(pair.reversed for pair in pairs if pair.large_model != without))
    spread = {name: _spread(name, pairs) for name in to_learn(family) if may_weigh(name, pairs)}
    fixed = {name: weight for name, weight in by_hand(family).items() if weight and any(_means(name, pairs))}
    either = [
        _Example(None, found.signals, 0.5, GUARDS * ROWS / len(everyday_measurements(family)))
        for found in everyday_measurements(family)
    ]
    failure = _head([*_failures(everyone), *either], everyone, spread, STRENGTH, fixed)
    rescue = _head(_rescues(pairs), pairs, spread, RESCUE_STRENGTH)
    good = [1 - large for pair in pairs for small, large in zip(pair.small, pair.large, strict=True) if small > 0.5]
    profile = Profile(spread, Head(0.0, failure.weights), rescue, mean(good))
    intercept = min(ASSUMED[family], *_allowed_intercepts(with_hand(profile, family), family, pairs))
    return replace(profile, failure=replace(profile.failure, intercept=intercept))


@cache
def everyday_measurements(family: Family) -> tuple[Measurements, ...]:
    """Returns the measurements of right everyday answers."""
    cases = (Case(response, prompt, NO_CONTEXT) for prompt, response in everyday_answers())
    return tuple(measurements(case) for case in cases if case.family == family)


def _allowed_intercepts(profile: Profile, family: Family, pairs: Sequence[Pair]) -> Iterator[float]:
    """Yields the highest intercept for each able model, and for everyday answers, by the share that may be stuck.

    Models that are mostly wrong are left out, as their right answers look like wrong ones.
    """
    able = [pair for pair in pairs if mean(pair.small) >= ABLE] or pairs
    right = [
        [found for found, small in zip(pair.measurements, pair.small, strict=True) if small > 0.5] for pair in able
    ]
    for found, share in (*((each, STUCK) for each in right), (everyday_measurements(family), STUCK_GUARDS)):
        doubts = sorted(logit(profile.failure, profile.standard(each.signals)) for each in found if not each.failed)
        if doubts:
            yield AT_DEFAULT - doubts[min(len(doubts) - 1, int((1 - share) * len(doubts)))]


def may_weigh(name: str, pairs: Sequence[Pair]) -> bool:
    """Checks whether a judgement speaks on enough right answers to get a weight."""
    right = (
        signals for pair in pairs for signals, small in zip(_signals(pair), pair.small, strict=True) if small > 0.5
    )
    return sum(bool(signals.get(name)) for signals in right) >= LEAST_RIGHT


def with_gains(profile: Profile, pairs: Sequence[Pair]) -> Profile:
    """Returns the profile with the quantiles of the gain in these pairs, each of which counts the same."""
    if not pairs:
        return profile
    standard = [profile.standard(signals) for pair in pairs for signals in _signals(pair)[:ROWS]]
    gains = sorted(profile.gain(values, profile.quality(values)) for values in standard)
    return replace(
        profile, gains=tuple(gains[round(part / QUANTILES * (len(gains) - 1))] for part in range(QUANTILES + 1))
    )


def _means(name: str, pairs: Sequence[Pair]) -> list[float]:
    return [mean([signals.get(name, 0.0) for signals in _signals(pair)]) for pair in pairs]


def _spread(name: str, pairs: Sequence[Pair]) -> tuple[float, float]:
    values = [signals[name] for pair in pairs for signals in _signals(pair) if name in signals]
    centre = mean(values)
    return centre, max(1e-3, mean([(value - centre) ** 2 for value in values]) ** 0.5)


@dataclass(frozen=True, slots=True)
class _Example:
    """An answer to learn from. An everyday answer has no pair."""

    pair: Pair | None
    signals: Mapping[str, float]
    label: float
    weight: float


def _failures(pairs: Sequence[Pair]) -> list[_Example]:
    """Returns examples of failure, with the label 1 for a wrong answer."""
    return [
        _Example(pair, signals, 1 - small, ROWS / len(pair.records))
        for pair in pairs
        for signals, small in zip(_signals(pair), pair.small, strict=True)
    ]


def _rescues(pairs: Sequence[Pair]) -> list[_Example]:
    """Returns examples of rescue: wrong answers, with the label 1 if the large model was right."""
    return [
        _Example(pair, signals, large, ROWS / len(pair.records))
        for pair in pairs
        for signals, small, large in zip(_signals(pair), pair.small, pair.large, strict=True)
        if small <= 0.5
    ]


def _head(
    examples: Sequence[_Example],
    pairs: Sequence[Pair],
    spread: Spread,
    strength: float,
    fixed: Mapping[str, float] = NOTHING,
) -> Head:
    """Fits a head whose intercept is the mean of the pairs' offsets. Signals in `fixed` keep their weight."""
    signals = [Term([_standard(e.signals, name, width) for e in examples], strength) for name, width in spread.items()]
    signals += [Term([e.signals.get(name, 0.0) for e in examples], KEPT, weight) for name, weight in fixed.items()]
    owners = (*pairs, None)
    offsets = [Term([float(each.pair is owner) for each in examples], OFFSET_STRENGTH) for owner in owners]
    labels, weights = [each.label for each in examples], [each.weight for each in examples]
    found = fit(RegressionProblem([*signals, *offsets], labels, weights))
    return Head(mean(found[len(signals) : -1]), dict(zip(spread, found, strict=False)))


def _standard(signals: Mapping[str, float], name: str, width: tuple[float, float]) -> float:
    return standard(signals[name], *width) if name in signals else 0.0


def _signals(pair: Pair) -> list[Mapping[str, float]]:
    return [found.signals for found in pair.measurements]


def as_json(profile: Profile) -> dict[str, Any]:
    return {
        "spread": {name: [_short(value) for value in width] for name, width in profile.spread.items()},
        "failure": _head_as_json(profile.failure),
        "rescue": _head_as_json(profile.rescue),
        "spoilt": _short(profile.spoilt),
        "gains": [_short(gain) for gain in profile.gains],
    }


def _head_as_json(head: Head) -> dict[str, Any]:
    weights = {name: _short(weight) for name, weight in head.weights.items()}
    return {"intercept": _short(head.intercept), "weights": weights}


def _short(value: float) -> float:
    return round(value, 4)


def shipped_file(folder: Path, without: str = "") -> str:
    """Returns the text of the weights' file, learned without the answers of the small model `without`."""
    pairs = [pair for pair in read_pairs(folder, *LICENSED) if pair.small_model != without]
    families = {}
    for family in FAMILIES:
        own = [pair for pair in pairs if pair.family == family]
        families[family] = {
            "learned_on": [pair.name for pair in own] or "nothing",
            **as_json(with_gains(learn_profile(own, family, without), own)),
        }
    about = (
        "Weights of the stuck detector. Learned on answers published by lm-sys/RouteLLM (Apache-2.0),"
        " WildEval/ZeroEval "
        "(Apache-2.0) and TIGER-AI-Lab/MMLU-Pro (Apache-2.0); the families tool and chat are set by hand."
    )
    return json.dumps({"about": about, "families": families}, indent=1) + "\n"


def main(arguments: Sequence[str]) -> None:
    if len(arguments) not in (1, 3):
        raise ConfigError("Name the folder with the recorded answers. To leave a model out, add its name and a file.")
    folder, without, file = [*arguments, "", str(files("ai_battle.judging") / FILE)][:3]
    Path(file).write_text(shipped_file(Path(folder), without), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
