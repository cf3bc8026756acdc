"""Tests on labelled answers how much a pair loses by not asking its helper, and states the result as a promise."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from json import dumps
from math import ceil, comb, exp, log, log1p
from typing import Any, Self

from ..core.errors import ConfigError

BET_SHARES = tuple(part / 10 for part in range(1, 10))
"""Shares of the wealth that are bet on graded losses, each with an equal part of the wealth."""
MOST_PROMPTS = 50
"""With more different system prompts, each request has its own, so a changed one is no reason to warn."""
SEALED, SPENT = 12, 0.9
"""Digits of a digest; the share of the error probability that the lot may use up.

The rest is a reserve for labels that are not fully independent.
"""

Rank = tuple[float, ...]
Test = Callable[[float], bool]
"""Takes one more loss and returns whether a loss above the promised one is still refuted."""


@dataclass(frozen=True, slots=True)
class Promise:
    """A promise that at most the share `loss` of the answers is worse than the helper's would have been.

    A pair that loses more passes the test with a probability of at most 1 - `confidence`. It was tested on `labels`
    answers, of which `lost` (graded ones in parts) are worse and get no help. Answers without labels get help in any
    case. `data` is a digest of the answers and `date` the day (UTC); `models` are the small and the large model,
    `tools` and `prompts` (digests of system prompts) those of the answers, if known. The promise holds for each of the
    `families` and for all other answers together. `seal` is a digest of all this and of the cut.
    """

    loss: float
    confidence: float
    labels: int
    lost: float
    data: str = ""
    date: str = ""
    models: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    seal: str = ""

    def with_seal(self, calibration: Mapping[str, Any]) -> Self:
        """Returns the promise sealed for a calibration, so that later changes of either show."""
        return replace(self, seal=self._seal_of(calibration))

    def fits(self, calibration: Mapping[str, Any]) -> bool:
        return self.seal == self._seal_of(calibration)

    def is_of(self, system: str) -> bool:
        """Checks whether the promise was tested with this system prompt, or it is unknown with which."""
        return not self.prompts or digest(system) in self.prompts

    def _seal_of(self, calibration: Mapping[str, Any]) -> str:
        others = {name: value for name, value in calibration.items() if name != "promise"}
        fields = {name: value for name, value in asdict(replace(self, seal="")).items() if name != "prompts" or value}
        return digest([fields, others])

    @classmethod
    def of_json(cls, data: Any) -> Self:
        """Reads a promise. Raises `ConfigError` for data that `ai-battle calibrate` did not write."""
        try:
            listed = {
                name: tuple(map(str, data.get(name) or ())) for name in ("models", "tools", "families", "prompts")
            }
            return cls(**{**data, **listed})
        except (TypeError, AttributeError) as error:
            message = (
                "The calibration has a promise that can't be used; take what `ai-battle calibrate` writes as it is."
            )
            raise ConfigError(message, "calibration") from error


def safe_cut(
    ranks: Sequence[Rank], losses: Sequence[float | None], loss: float, confidence: float, above: Rank
) -> Rank:
    """Returns the highest cut at which a loss above `loss` is refuted: answers of this rank and above get help.

    `losses` are from 0 to 1, in the order of `ranks`; an answer with an unknown loss (None) always gets help. `above`
    is higher than all ranks. Cuts are tested from the lowest, where each answer gets help and nothing is lost, until
    one fails. This fixed sequence needs no correction for multiple tests (Angelopoulos, Bates, Candes, Jordan and Lei,
    "Learn then Test", 2021). Right and wrong are tested by the exact binomial, at its full level by a lot drawn from
    the data; graded losses by betting (Waudby-Smith and Ramdas, "Estimating means of bounded random variables by
    betting", JRSS-B 2024). Both hold for any distribution, as long as the labelled answers are drawn like future ones.

    Raises `ConfigError` naming the number of missing labels if even no loss at all would refute nothing.
    """
    chance, labels, needed = 1 - confidence, len(ranks), least_labels(loss, confidence)
    if labels < needed:
        raise ConfigError(
            f"{labels} labelled answers are too few to promise a loss of at most {loss:.1%} with {confidence:.0%} "
            f"confidence: at least {needed} are needed, {needed - labels} more, and about {5 * needed} to save much."
        )
    order = sorted(range(labels), key=ranks.__getitem__)
    is_graded = not {*losses} <= {0.0, 1.0, None}
    test = _betting(labels, loss, chance) if is_graded else _binomial(labels, loss, chance, losses)
    return next((ranks[at] for at in order if (lost := losses[at]) is None or (lost and not test(lost))), above)


def least_labels(loss: float, confidence: float) -> int:
    """Returns the number of labels that a promise needs if none of them is lost."""
    return ceil(log(1 - confidence) / log1p(-loss) - 1e-9)


def _binomial(labels: int, loss: float, chance: float, losses: Sequence[float | None]) -> Test:
    most, below = -1, 0.0
    while below + (more := _probability(labels, most + 1, loss)) <= chance:
        most, below = most + 1, below + more
    lot = int(digest(list(losses)), 16) / 16.0**SEALED
    most += lot < (SPENT * chance - below) / more  # a lot decides on one more, which the level allows only in part
    seen = 0

    def test(_: float) -> bool:
        nonlocal seen
        seen += 1
        return seen <= most

    return test


def _probability(labels: int, lost: int, loss: float) -> float:
    return exp(log(comb(labels, lost)) + lost * log(loss) + (labels - lost) * log1p(-loss))


def _betting(labels: int, loss: float, chance: float) -> Test:
    """Returns a test by betting. Each bet wins if less than `loss` is lost, and gains nothing on average otherwise."""
    wealth = [labels * log1p(bet * loss / (1 - loss)) for bet in BET_SHARES]

    def test(lost: float) -> bool:
        for place, bet in enumerate(BET_SHARES):
            part = bet / (1 - loss)
            wealth[place] += log1p(part * (loss - lost)) - log1p(part * loss)
        return bool(sum(exp(min(each, 700.0)) for each in wealth) / len(BET_SHARES) >= 1 / chance)

    return test


def digest(value: Any) -> str:
    """Returns a short digest, equal for equal values."""
    return sha256(dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:SEALED]
