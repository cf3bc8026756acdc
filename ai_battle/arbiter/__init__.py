"""Models that judge a run by a rubric, with scores whose quotations are checked."""

from typing import TYPE_CHECKING

from ..core.lazy import names_of

if TYPE_CHECKING:
    from .judging import Arbiter, judge_run

__all__ = ["Arbiter", "judge_run"]

__getattr__ = names_of(__name__, {"judging": ("Arbiter", "judge_run")})
