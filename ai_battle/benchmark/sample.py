"""A sample: one answer of a setting to a task, with its score and its costs."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self

from ..config.benchmark import Unscored
from ..core.exchange import NOTHING_USED, Usage


class SampleKey(NamedTuple):
    """Identifies a sample; `repeat` counts from 0."""

    setting: str
    task: str
    repeat: int


@dataclass(frozen=True, slots=True)
class AnswerScore:
    """A score from 0 to 1; `value` is None if no scorer could read the answer.

    `cost_usd` is the cost of scoring by a model. `scorer_failed` means that the answer is not to blame for a missing
    value: the judge did not answer, or the answer is not one of the recorded ones.
    """

    value: float | None
    why: str = ""
    cost_usd: float = 0.0
    scorer_failed: bool = False


UNSCORED = AnswerScore(None)


@dataclass(frozen=True, slots=True)
class HelpRecord:
    """How often a sample asked other models, how often questions were declined, and the dollars for all.

    `asked_first` means that help came before the first answer, so there is none to compare with. `failed` counts the
    times that another model gave nothing usable, `failure` says why the last did.
    """

    asked: int = 0
    declined: int = 0
    cost_usd: float | None = 0.0
    asked_first: bool = False
    failed: int = 0
    failure: str = ""


NO_HELP = HelpRecord()


@dataclass(frozen=True, slots=True)
class Sample:
    """An answer with all figures of its making. `error` says why there is none; that does not count as wrong.

    `usage` is everything the sample used, `wasted` the part that did not lead to the answer. `quality`, `signals` and
    `reason` are the detector's findings on `small_answer`, the first answer of the small model. `large_answer` is the
    helper's last one. Their scores are None if they were not scored. `spent_usd` is what was paid in this run, without
    recorded and cached answers.
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
        """Whether there is no answer or no working scorer; for neither is the setting to blame."""
        return bool(self.error) or self.score.scorer_failed

    @property
    def is_unreadable(self) -> bool:
        return not self.has_failed and self.score.value is None

    def with_unscored_rule(self, unscored: Unscored) -> Self:
        """Returns the sample, with an unreadable answer counted as wrong unless such are excluded."""
        if unscored == "exclude" or not self.is_unreadable:
            return self
        return replace(self, score=replace(self.score, value=0.0))
