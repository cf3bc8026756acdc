"""Judges runs by a rubric; each score needs a quotation that is found in the transcript."""

from .judging import Arbiter, judge_run

__all__ = ["Arbiter", "judge_run"]
