"""Learns the shipped weights: `python -m ai_battle.collaboration._stuck.learn DATA_DIR [WITHOUT_MODEL FILE]`.

Only data whose licence allows it is learned on. What has none, or too little data, has weights set by hand.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...core.errors import ConfigError
from ..measures import mean
from .family import FAMILIES, Family
from .hand import ASSUMED, BY_HAND, CHANCE, EVERYWHERE
from .profile import FILE, Head, Profile, standard
from .records import Pair, read_pairs
from .regression import Problem, Term, fit

STRENGTH, RESCUE_STRENGTH, OFFSET_STRENGTH = 30.0, 100.0, 0.01
ROWS, QUANTILES = 800, 20
Spread = Mapping[str, tuple[float, float]]
LICENSED = ("gsm8k", "math-l5", "crux", "mmlu-pro")
LEARNED: Mapping[Family, tuple[str, ...]] = {
    "math": (
        "wrong_sums", "no_sums", "numbers_from_nowhere", "final_unstated", "final_unmarked", "final_fractional",
        "final_not_in_working", "final_not_last_sum", "last_sum_uses_nothing", "fractional_results", "facts_unused",
        "length", "question_length", "question_numbers", "question_compares", "question_percent", "ends_off_question",
        "repeated_words", "self_correction",
    ),
    "mcq": (
        "no_pick", "not_listed", "stem_length", "result_no_option", "pick_in_working", "other_in_working",
        "pick_is_longest", "pick_is_late", "pick_number_absent", "no_sums", "wrong_sums", "facts_unused", "length",
        "repeated_words", "ends_openly", "self_correction",
    ),
    "code": (
        "output_from_nowhere", "output_is_input", "length", "input_length", "varied_words", "output_is_bool",
        "output_is_text", "program_length", "output_length", "output_reorders", "output_empty", "program_branches",
        "repeated_words", "self_correction",
    ),
}  # fmt: skip


def learned(pairs: Sequence[Pair], family: Family) -> Profile:
    """The profile of a family; each pair counts the same and has an offset of its own, so models are not compared."""
    if family not in LEARNED:
        return Profile.read(BY_HAND[family])
    names = LEARNED[family]
    spread = {name: _spread(name, pairs) for name in names}
    failure = _head(_failures(pairs), pairs, spread, STRENGTH)
    rescue = _head(_rescues(pairs), pairs, spread, RESCUE_STRENGTH)
    good = [1 - large for pair in pairs for small, large in zip(pair.small, pair.large, strict=True) if small > 0.5]
    return Profile(spread, Head(ASSUMED[family], failure.weights), rescue, mean(good))


def with_gains(profile: Profile, pairs: Sequence[Pair]) -> Profile:
    """With the quantiles of the gain in these pairs, each counted the same; without any, those of chance."""
    standard = [profile.standard(signals) for pair in pairs for signals in _signals(pair)[:ROWS]]
    gains = sorted(profile.gain(values, profile.quality(values)) for values in standard) or CHANCE
    return replace(
        profile, gains=tuple(gains[round(part / QUANTILES * (len(gains) - 1))] for part in range(QUANTILES + 1))
    )


def _spread(name: str, pairs: Sequence[Pair]) -> tuple[float, float]:
    values = [signals[name] for pair in pairs for signals in _signals(pair) if name in signals]
    centre = mean(values)
    return centre, max(1e-3, mean([(value - centre) ** 2 for value in values]) ** 0.5)


@dataclass(frozen=True, slots=True)
class _Example:
    """An answer of a pair to learn from."""

    pair: Pair
    signals: Mapping[str, float]
    label: float

    @property
    def weight(self) -> float:
        return ROWS / len(self.pair.records)


def _failures(pairs: Sequence[Pair]) -> list[_Example]:
    """Is this answer wrong?"""
    return [
        _Example(pair, signals, 1 - small)
        for pair in pairs
        for signals, small in zip(_signals(pair), pair.small, strict=True)
    ]


def _rescues(pairs: Sequence[Pair]) -> list[_Example]:
    """If it is wrong, was the large model right?"""
    return [
        _Example(pair, signals, large)
        for pair in pairs
        for signals, small, large in zip(_signals(pair), pair.small, pair.large, strict=True)
        if small <= 0.5
    ]


def _head(examples: Sequence[_Example], pairs: Sequence[Pair], spread: Spread, strength: float) -> Head:
    """The intercept is the mean of the offsets of all pairs."""
    signals = [Term([_standard(e.signals, name, width) for e in examples], strength) for name, width in spread.items()]
    offsets = [Term([float(each.pair is pair) for each in examples], OFFSET_STRENGTH) for pair in pairs]
    labels, weights = [each.label for each in examples], [each.weight for each in examples]
    found = fit(Problem([*signals, *offsets], labels, weights))
    return Head(mean(found[len(signals) :]), dict(zip(spread, found, strict=False)))


def _standard(signals: Mapping[str, float], name: str, width: tuple[float, float]) -> float:
    return standard(signals[name], *width) if name in signals else 0.0


def _signals(pair: Pair) -> list[Mapping[str, float]]:
    return [found.signals for found in pair.measured]


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
    """`without` names a small model whose answers are left out."""
    pairs = [pair for pair in read_pairs(folder, *LICENSED) if pair.small_model != without]
    families = {}
    for family in FAMILIES:
        own = [pair for pair in pairs if pair.family == family]
        families[family] = {
            "learned_on": [pair.name for pair in own] or "set by hand",
            **as_json(with_gains(learned(own, family), own)),
        }
    about = (
        "Weights of the stuck detector. Learned on answers published by lm-sys/RouteLLM (Apache-2.0),"
        " WildEval/ZeroEval "
        "(Apache-2.0) and TIGER-AI-Lab/MMLU-Pro (Apache-2.0); the families tool and chat are set by hand."
    )
    return json.dumps({"about": about, "everywhere": EVERYWHERE, "families": families}, indent=1) + "\n"


def main(arguments: Sequence[str]) -> None:
    if len(arguments) not in (1, 3):
        raise ConfigError(
            "The folder with the recorded answers is needed; and, to leave a model out, its name and a file."
        )
    folder, without, file = [*arguments, "", str(Path(__file__).with_name(FILE))][:3]
    Path(file).write_text(shipped_file(Path(folder), without), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
