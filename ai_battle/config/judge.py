"""The schema of a rubric, which says what a judge rates, and of `discussion.judge`."""

import os
from collections.abc import Iterator, Mapping
from functools import partial
from math import fsum, isclose
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from .collaboration import Helper
from .documents import ConfigDocument, FileKind, Source, read_document
from .packaged import packaged_config
from .problems import KeyPath, Problem
from .values import AS_NUMBER, MAX_COUNT, Listed, Name, Section, ShortSpelling, short_for

Number = Annotated[float, Field(ge=-MAX_COUNT, le=MAX_COUNT), AS_NUMBER]
Scale = Annotated[tuple[Number, ...], Field(min_length=2, max_length=2)]
DEFAULT_RUBRIC = "discussion"
WEIGHT_TOTALS = (1.0, 100.0)
"""The totals that weights may add up to: shares or percentages."""


class Criterion(Section):
    """A rated criterion; a plain string is short for `{asks: ...}`."""

    asks: Annotated[str, Field(min_length=1, max_length=2_000)] = Field(
        description="What a high score means, in a sentence or two.",
        examples=["Does it stay with what it said before?"],
    )
    weight: Annotated[float, Field(gt=0, le=100), AS_NUMBER] | None = Field(
        default=None, description="Its share of the total. All add up to 1 or 100; without weights, all count equally."
    )


Criteria = dict[Name, Annotated[Criterion, short_for("asks")]]


class Rubric(Section):
    """The criteria and the scale."""

    scale: Scale = Field(default=(1, 10), description="The lowest and the highest score.", examples=[[1, 5]])
    criteria: Criteria = Field(min_length=1, max_length=20, description="The criteria by name.")

    @property
    def weights(self) -> dict[str, float]:
        """The share of each criterion in the total; they add up to 1."""
        stated = {name: criterion.weight or 1.0 for name, criterion in self.criteria.items()}
        return {name: weight / fsum(stated.values()) for name, weight in stated.items()}


class RubricFile(Section):
    """A rubric in a file of its own."""

    rubric: Rubric = Field(description="The criteria and the scale.")


def _judge(raw: Any) -> Any:
    """Expands a judge: a model or a list of them is short for a mapping, and `model` means `models`."""
    if isinstance(raw, dict) and "models" not in raw and "model" in raw:
        return {("models" if key == "model" else key): value for key, value in raw.items()}
    return {"models": raw} if isinstance(raw, str | list | tuple) else raw


class JudgeSettings(Section):
    """Who judges a finished discussion, and by which rubric. A model type or a list is short for `models`."""

    models: Listed[Helper] = Field(
        min_length=1, max_length=10, description="The model that judges, or several.", examples=["gpt-4o"]
    )
    rubric: str = Field(
        default="",
        description="The file of a rubric, or the name of a packaged one.",
        examples=["./rubric.yaml", "discussion"],
    )
    criteria: Criteria | None = Field(
        default=None,
        min_length=1,
        max_length=20,
        description="The criteria of a rubric written here, instead of `rubric`.",
    )
    scale: Scale = Field(default=(1, 10), description="With `criteria`: the lowest and the highest score.")

    def find_rubric(self, base: Path) -> Rubric:
        """Returns the rubric. Raises `ConfigError` with all problems of its file."""
        if self.criteria:
            return Rubric(criteria=self.criteria, scale=self.scale)
        return load_rubric(self.rubric, base)


AnyJudge = Annotated[JudgeSettings, ShortSpelling(_judge, {"type": ["string", "array"]})]


def rubric_problems(criteria: Mapping[str, Criterion], scale: tuple[float, ...], path: KeyPath) -> Iterator[Problem]:
    """Finds weights that don't add up, missing weights, and a scale whose ends are swapped."""
    weights = {name: criterion.weight for name, criterion in criteria.items() if criterion.weight is not None}
    unweighted = [name for name in criteria if name not in weights]
    if weights and unweighted:
        yield Problem((*path, "criteria", unweighted[0]), "has no weight, and others have one; weigh all or none")
    elif weights and not any(map(partial(isclose, fsum(weights.values()), abs_tol=1e-6), WEIGHT_TOTALS)):
        yield Problem((*path, "criteria"), f"the weights add up to {fsum(weights.values()):.6g}, not to 1 or 100")
    if scale[0] >= scale[1]:
        words = f"goes from {scale[0]:g} to {scale[1]:g}; write the lowest score first, for example [1, 10]"
        yield Problem((*path, "scale"), words)


def judge_problems(settings: JudgeSettings, path: KeyPath) -> Iterator[Problem]:
    """Finds problems of a rubric inside a discussion."""
    if settings.criteria and settings.rubric:
        yield Problem((*path, "rubric"), "'criteria' already says what is judged; leave one of the two out")
    if settings.criteria:
        yield from rubric_problems(settings.criteria, settings.scale, path)
    elif "scale" in settings.model_fields_set:
        yield Problem((*path, "scale"), "a scale goes with 'criteria'; a rubric in a file has its own")


RUBRIC = FileKind(
    "rubric",
    ConfigDocument,
    RubricFile,
    lambda tree, variables: (tree, ()),
    lambda file: rubric_problems(file.rubric.criteria, file.rubric.scale, ("rubric",)),
)


def load_rubric(named: str | os.PathLike[str] = "", base: Path = Path()) -> Rubric:
    """Loads a rubric by its path from `base` or its packaged name; without one, the default rubric.

    Raises `ConfigError` with all problems as `file:line:column`.
    """
    path = base / Path(named).expanduser()
    packaged = None if named and path.exists() else packaged_config(str(named or DEFAULT_RUBRIC), "rubric")
    return read_rubric(packaged or path)


def read_rubric(source: Source) -> Rubric:
    """Reads a rubric from its file or text. Raises `ConfigError` with all problems."""
    found: Rubric = read_document(RUBRIC, source).file.rubric
    return found
