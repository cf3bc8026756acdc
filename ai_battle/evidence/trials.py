"""Findings of a pair's shadow: one trial for each request that both models have answered."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from ..core.errors import ConfigError
from ..core.exchange import ToolSpec
from ..core.plugins import near
from ..judging.assessment import Context
from ..judging.labels import LabelledAnswer
from .store import MOST_RECORDS, EvidenceRecord, EvidenceStore, value_of

TRIALS, DAYS = "shadow", "shadow days"
"""Collections of a store: the trials, and the counts of each day by its date."""
Outcome = Literal["win", "tie", "loss"]
"""The result of the small model's answer compared to the large one's."""


@dataclass(frozen=True, slots=True)
class AnswerComparison:
    """`is_steady`: the result was the same with the answers in the other order; otherwise it counts as a tie."""

    outcome: Outcome
    reason: str = ""
    is_steady: bool = True


@dataclass(frozen=True, slots=True)
class ShadowTrial:
    """A request that both models have answered, sampled with probability `share`. Texts are redacted and cut.

    `helped`: the helper took part in the answer that was sent, so the shadow answer is the small model's alone;
    otherwise it is the helper's. Dollars are None if no price is known. For a helped request, the large model's cost
    and time are the helper's. `cut` is a digest of the rule by which the pair asked for help. `is_advised`: the small
    model wrote the answer itself, with the helper's advice. `system` is a digest of the system prompt.
    """

    outcome: Outcome
    helped: bool
    share: float
    family: str
    prompt: str
    small: str
    large: str
    reason: str = ""
    is_steady: bool = True
    pair_usd: float | None = None
    large_usd: float | None = None
    pair_seconds: float = 0.0
    large_seconds: float = 0.0
    tools: Sequence[Mapping[str, Any]] = ()
    cut: str = ""
    is_advised: bool = False
    system: str = ""

    @property
    def is_lost(self) -> bool:
        """Returns whether the answer that was sent was worse than the helper's would have been."""
        return self.outcome == "loss" and not self.helped

    @property
    def weight(self) -> float:
        """Returns how many requests the trial represents: its inverse probability (Horvitz and Thompson, 1952)."""
        return 1 / self.share

    @property
    def saved_usd(self) -> float | None:
        """The dollars that the pair cost less than the large model alone would have."""
        return None if self.large_usd is None or self.pair_usd is None else self.large_usd - self.pair_usd

    @property
    def saved_seconds(self) -> float:
        return self.large_seconds - self.pair_seconds


def keep_trial(store: EvidenceStore, pair: str, key: str, trial: ShadowTrial) -> None:
    """Stores a trial. Raises `StoreError`."""
    store.add(TRIALS, pair, key, asdict(trial))


def read_trials(
    store: EvidenceStore, pair: str, *, newest: int = MOST_RECORDS
) -> Sequence[tuple[EvidenceRecord, ShadowTrial]]:
    """Returns the trials of a pair in order, with their records. Raises `StoreError`."""
    found = store.records(TRIALS, pair, newest=newest)
    return [(record, value_of(ShadowTrial, record.document)) for record in found]


def labelled_answers(store: EvidenceStore, pair: str) -> Sequence[LabelledAnswer]:
    """Returns the small model's answers for a calibration; in a tie both answers count as right.

    Raises `StoreError`, and `ConfigError` if nothing is known of the pair.
    """
    trials = [trial for _, trial in read_trials(store, pair)]
    if not trials:
        raise ConfigError(f"Nothing is known of a pair {pair!r}{near(pair, [*store.pairs(TRIALS)])}")
    return [*map(_labelled_answer, trials)]


def newest_answers(store: EvidenceStore, pair: str, most: int, *, since: float = 0.0) -> Sequence[LabelledAnswer]:
    """Returns at most `most` of the newest answers after `since`. Raises `StoreError`."""
    return [_labelled_answer(trial) for at, trial in read_trials(store, pair, newest=most) if at.time > since]


def _labelled_answer(trial: ShadowTrial) -> LabelledAnswer:
    tools = (ToolSpec(tool["name"], tool.get("description", ""), tool.get("parameters", {})) for tool in trial.tools)
    return LabelledAnswer(
        trial.prompt,
        trial.small,
        good=float(trial.outcome != "loss"),
        helper_good=float(trial.outcome != "win"),
        context=Context(tools=tuple(tools)),
        system=trial.system,
    )


def add_to_day(store: EvidenceStore, pair: str, day: str, counts: Mapping[str, float]) -> Mapping[str, float]:
    """Adds to the counts of a day, over all processes, and returns their sums. Raises `StoreError`."""

    def add(before: Mapping[str, float] | None) -> Mapping[str, float]:
        known = before or {}
        return {**known, **{name: known.get(name, 0) + number for name, number in counts.items()}}

    return store.change(DAYS, pair, day, add)
