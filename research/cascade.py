"""Measures what a cascade of three models gains: `python -m research.cascade DIR`.

DIR holds recorded answers as `gsm8k.<small>.<large>.jsonl.gz`, of several small models to the same questions. The
detector's weights have seen no answer of the model that they judge.
"""

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from operator import and_
from pathlib import Path

from ai_battle.core.errors import ConfigError
from ai_battle.judging.measures import mean
from research.detector import by_weights, stuck_flags, weights_without
from research.records import Pair, read_pairs

CHAIN = ("qwen2-7b", "llama3.1-8b")


@dataclass(frozen=True, slots=True)
class Cascaded:
    """The shares of right answers of the cascade and of each of its models alone, and the shares of calls."""

    quality: float
    first: float
    second: float
    last: float
    second_calls: float
    last_calls: float


def run_cascade(folder: Path) -> Cascaded:
    """Serves the first model's answer unless it is stuck, else the second's, else the first pair's large model's."""
    pairs = read_pairs(folder, "gsm8k", "math-l5")
    first, second = (_of(pairs, name) for name in CHAIN)
    if [each.prompt for each in first.records] != [each.prompt for each in second.records]:
        raise ConfigError(f"{first.name} and {second.name} answer different questions.")
    asked, second_asked = (stuck_flags(by_weights(each, weights_without(each, pairs))) for each in (first, second))
    last = list(map(and_, asked, second_asked))
    answers = zip(asked, last, first.small, second.small, first.large, strict=True)
    return Cascaded(
        quality=mean([_served_quality(*each) for each in answers]),
        first=mean(first.small),
        second=mean(second.small),
        last=mean(first.large),
        second_calls=mean(asked),
        last_calls=mean(last),
    )


def _served_quality(second_asked: bool, last_asked: bool, first: float, second: float, last: float) -> float:
    if last_asked:
        return last
    return second if second_asked else first


def _of(pairs: Sequence[Pair], small: str) -> Pair:
    found = next((pair for pair in pairs if pair.dataset == "gsm8k" and pair.small_model == small), None)
    if found is None:
        raise ConfigError(f"There are no answers of {small} to gsm8k.")
    return found


def main(arguments: Sequence[str]) -> None:
    for name, value in asdict(run_cascade(Path(arguments[0] if arguments else "."))).items():
        print(f"{name:13} {value:.3f}")


if __name__ == "__main__":
    main(sys.argv[1:])
