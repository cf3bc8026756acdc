"""A sample: one setting's answer to one task, once, with its score and all that it took."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self

from ..config.benchmark import Unscored
from ..core.exchange import NOTHING_USED, Usage


class SampleKey(NamedTuple):
    """Names a sample; `repeat` counts from 0."""

    setting: str
    task: str
    repeat: int


@dataclass(frozen=True, slots=True)
class AnswerScore:
    """From 0 to 1; `value` is None where no scorer could read the answer.

    `cost_usd` is what scoring itself cost, where a model judged. `scorer_failed` says that the lack of a value is no
    fault of the answer: the judge did not answer, or the answer is none of those that were recorded.
    """

    value: float | None
    why: str = ""
    cost_usd: float = 0.0
    scorer_failed: bool = False


UNSCORED = AnswerScore(None)


@dataclass(frozen=True, slots=True)
class HelpRecord:
    """How often other models were asked in a sample, how often a question was declined, and dollars for all of them.

    `asked_first`: help came before the first answer, so that there is none from before it.
    """

    asked: int = 0
    declined: int = 0
    cost_usd: float | None = 0.0
    asked_first: bool = False


NO_HELP = HelpRecord()


@dataclass(frozen=True, slots=True)
class Sample:
    """`error` says why there is no answer: the call failed, which is no wrong answer either.

    `usage` is all that the sample took, `wasted` the part that no answer was made of. `quality`, `signals` and `reason`
    are what the detector said of the first answer of the small model, `small_answer`; `large_answer` is the last of the
    one that helped. Their scores are None where they were not scored. `spent_usd` is the part of the cost that was
    really paid in this run: answers out of a recording or of the cache are not.
    """

    setting: str
    task: str
    repeat: int = 0
    answer: str = ""
    score: AnswerScore = UNSCORED
    usage: Usage = NOTHING_USED
    seconds: float = 0.0
    helped: bool = False
    wasted: Usage = NOTHING_USED
    quality: float | None = None
    signals: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""
    small_answer: str = ""
    large_answer: str = ""
    error: str = ""
    small_score: float | None = None
    large_score: float | None = None
    spent_usd: float = 0.0
    help: HelpRecord = NO_HELP

    @property
    def key(self) -> SampleKey:
        return SampleKey(self.setting, self.task, self.repeat)

    @property
    def has_failed(self) -> bool:
        """Checks whether there is nothing to score, or nobody to score it: for neither the answer is to blame."""
        return bool(self.error) or self.score.scorer_failed

    @property
    def is_unreadable(self) -> bool:
        return not self.has_failed and self.score.value is None

    def scored_by(self, unscored: Unscored) -> Self:
        """The sample whose answer counts as wrong where nothing can be read out of it, unless such are excluded."""
        if unscored == "exclude" or not self.is_unreadable:
            return self
        return replace(self, score=replace(self.score, value=0.0))
