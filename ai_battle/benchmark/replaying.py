"""Which answers of a run can be replayed under other settings: those of a small and a large model, each alone."""

from collections.abc import Mapping, Sequence

from .played import Played, alone
from .sample import Sample
from .settings import RECORDED
from .store import Store
from .sweep import Given, Replayed, recorded, replayed

MOST = 1_000
"""Tasks that are assessed; more would add nothing that is seen."""


def replayed_of(store: Store, settings: Sequence[Played]) -> tuple[list[Replayed], str]:
    """The answers and whose they are; nothing where no pair of models was recorded."""
    pair = next(filter(None, (_pair(each, settings) for each in settings)), None)
    if pair:
        return _of_settings(store, *pair), f"{pair[0].name} and {pair[1].name}"
    if any(RECORDED in model for each in settings for model in (each.model, *each.helpers)):
        return recorded(task for _, task in zip(range(MOST), store.tasks(), strict=False)), "the recorded answers"
    return [], ""


def _pair(helped: Played, settings: Sequence[Played]) -> tuple[Played, Played] | None:
    if len(helped.helpers) != 1:
        return None
    small, large = alone(settings, helped.model), alone(settings, helped.helpers[0])
    return (small, large) if small and large else None


def _of_settings(store: Store, small: Played, large: Played) -> list[Replayed]:
    """By the first answer of each to a task, where both were scored."""
    answers = [_first(store, each.name) for each in (small, large)]
    return [
        replayed(task, _given(answers[0][task.id]), _given(answers[1][task.id]))
        for _, task in zip(range(MOST), store.tasks(), strict=False)
        if all(task.id in of for of in answers)
    ]


def _first(store: Store, setting: str) -> Mapping[str, Sample]:
    first = (sample.scored_by(store.unscored) for sample in store.samples(setting) if not sample.repeat)
    return {sample.task: sample for sample in first if not sample.has_failed and sample.score.value is not None}


def _given(sample: Sample) -> Given:
    return Given(sample.answer, sample.score.value or 0.0, sample.usage.cost_usd, sample.seconds)
