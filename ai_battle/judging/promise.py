"""How much a pair may lose by not asking: a promise that a test on labelled answers bears out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from json import dumps
from math import ceil, comb, exp, log, log1p
from typing import Any, Self

from ..core.errors import ConfigError

BETS = tuple(part / 10 for part in range(1, 10))
"""Parts of the wealth that are set on graded losses, each with the same share of it."""
MOST_PROMPTS = 50
"""Where models were told more different things, each request has a system prompt of its own, and no change is one."""
SEALED, SPENT = 12, 0.9
"""Letters of a digest, and the part of the chance to err that a lot may use up: some is left for labels that are not
quite independent of each other."""

Rank = tuple[float, ...]
Test = Callable[[float], bool]
"""Takes one more loss, and says whether a greater loss than the promised one is still refuted."""


@dataclass(frozen=True, slots=True)
class Promise:
    """Of the answers that go out, on average at most the share `loss` is worse than the helper's would have been.

    A pair of which that is not so passes the test with a probability of at most 1 - `confidence`. It was tested on
    `labels` answers, of which `lost` (graded ones in parts) are worse and not helped; some may lack labels, as they
    get help in any case. `data` is a digest of them,
    `date` the day (UTC). `models` are the small and the large one, `tools` and `prompts` (digests of system prompts)
    those of the answers, as far as they are known. It holds for the answers of each of the `families` as well, and for
    those of all others together. `seal` is a digest of all of it and of the cut.
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
        """Returns the promise of that calibration, so that a change of either by hand shows."""
        return replace(self, seal=self._seal_of(calibration))

    def fits(self, calibration: Mapping[str, Any]) -> bool:
        return self.seal == self._seal_of(calibration)

    def is_of(self, system: str) -> bool:
        """Checks whether it was tested with this system prompt, or nobody knows with which."""
        return not self.prompts or digest(system) in self.prompts

    def _seal_of(self, calibration: Mapping[str, Any]) -> str:
        others = {name: value for name, value in calibration.items() if name != "promise"}
        fields = {name: value for name, value in asdict(replace(self, seal="")).items() if name != "prompts" or value}
        return digest([fields, others])

    @classmethod
    def of_json(cls, data: Any) -> Self:
        """Raises `ConfigError` for what `ai-battle calibrate` did not write."""
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

    `losses` are from 0 to 1, ordered like `ranks`; one that is not known (None) is never risked: its answer gets help.
    `above` is higher than all ranks. The cuts are tested from the
    lowest on, where each answer gets help and nothing is lost, until one fails: in this fixed sequence no correction is
    due for testing many (Angelopoulos, Bates, Candes, Jordan and Lei, "Learn then Test", 2021). Right and wrong are
    tested by the exact binomial, whose level a lot that is drawn of the data makes exact; graded losses by betting
    (Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting", JRSS-B 2024). Both hold for any
    distribution, as long as the labelled answers are drawn like those to come.

    Raises `ConfigError` that says how many labels are missing where even no loss at all would refute nothing.
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
    """Returns how many labels bear out a promise where none of them is lost."""
    return ceil(log(1 - confidence) / log1p(-loss) - 1e-9)


def _binomial(labels: int, loss: float, chance: float, losses: Sequence[float | None]) -> Test:
    most, below = -1, 0.0
    while below + (more := _probability(labels, most + 1, loss)) <= chance:
        most, below = most + 1, below + more
    lot = int(digest(list(losses)), 16) / 16.0**SEALED
    most += lot < (SPENT * chance - below) / more  # one more would be too many by a part only
    seen = 0

    def test(_: float) -> bool:
        nonlocal seen
        seen += 1
        return seen <= most

    return test


def _probability(labels: int, lost: int, loss: float) -> float:
    return exp(log(comb(labels, lost)) + lost * log(loss) + (labels - lost) * log1p(-loss))


def _betting(labels: int, loss: float, chance: float) -> Test:
    """Each bet gains where less is lost than `loss`; were it more, all together would gain nothing on average."""
    wealth = [labels * log1p(bet * loss / (1 - loss)) for bet in BETS]

    def test(lost: float) -> bool:
        for place, bet in enumerate(BETS):
            part = bet / (1 - loss)
            wealth[place] += log1p(part * (loss - lost)) - log1p(part * loss)
        return bool(sum(exp(min(each, 700.0)) for each in wealth) / len(BETS) >= 1 / chance)

    return test


def digest(value: Any) -> str:
    """Returns the same short text for the same value."""
    return sha256(dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:SEALED]
