"""Your own answers, labelled with their quality and that of the helper's answers."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..core.errors import ConfigError
from .assessment import NO_CONTEXT, Context
from .calibration import Rank

LEAST_LABELLED = 20
"""Fewer labels calibrate nothing."""


@dataclass(frozen=True, slots=True)
class LabelledAnswer:
    """An answer; `good` and `helper_good` are its quality and that of the helper's answer, if known.

    `peers` are other models' answers to the same prompt, `peers_good` their qualities. `system` is a digest of the
    system prompt, or "".
    """

    prompt: str
    response: str
    good: float | None = None
    helper_good: float | None = None
    context: Context = NO_CONTEXT
    peers: tuple[str, ...] = ()
    peers_good: tuple[float, ...] = ()
    system: str = ""

    @property
    def is_labelled(self) -> bool:
        return self.good is not None and self.helper_good is not None


def tested_places(answers: Sequence[LabelledAnswer], ranks: Sequence[Rank]) -> list[int]:
    """Returns the places of the answers on which a promise is tested: those with labels.

    If these are the last ones to get help, the others count too, as if all of them got help.
    """
    labelled = [at for at, answer in enumerate(answers) if answer.is_labelled]
    others = [rank for rank, answer in zip(ranks, answers, strict=True) if not answer.is_labelled]
    are_last = others and max(ranks[at] for at in labelled) < min(others)
    return [*range(len(answers))] if are_last else labelled


def losses_of(answers: Sequence[LabelledAnswer], small: Sequence[float], large: Sequence[float]) -> list[float | None]:
    """Returns what each answer loses without help, or None if it is not known."""
    lost = (max(0.0, helped - own) for own, helped in zip(small, large, strict=True))
    return [each if answer.is_labelled else None for answer, each in zip(answers, lost, strict=True)]


def require_labels(answers: Sequence[LabelledAnswer], labelled: Sequence[LabelledAnswer]) -> None:
    if not labelled:
        raise ConfigError(
            f'None of the {len(answers)} answers says both "correct" and "helper_correct", which this target needs; '
            "a help rate needs no labels."
        )
    if len(labelled) < LEAST_LABELLED:
        raise ConfigError(f"{len(labelled)} answers with labels are too few; at least {LEAST_LABELLED} are needed.")


def require_both_kinds(labelled: Sequence[LabelledAnswer]) -> None:
    if len({(answer.good or 0.0) > 0.5 for answer in labelled}) < 2:
        kind = "right" if (labelled[0].good or 0.0) > 0.5 else "wrong"
        raise ConfigError(
            f"All {len(labelled)} answers are {kind}, so nothing tells good ones from bad ones; add some of the other "
            "kind, or leave the labels out and say a help rate."
        )
