"""Models that judge a run by a rubric, with scores whose quotations are checked."""

from .judging import Arbiter, judge_run

__all__ = ["Arbiter", "judge_run"]
