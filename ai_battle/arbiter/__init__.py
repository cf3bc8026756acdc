"""Judges runs by a rubric; each score needs a quotation that is found in the transcript.

Every report reads verdicts, but few runs are judged, so what judges is imported on first use.
"""

from typing import TYPE_CHECKING

from ..core.plugins import on_first_use

__all__ = ["Arbiter", "judge_run"]

if TYPE_CHECKING:
    from .judging import Arbiter, judge_run
else:
    __getattr__ = on_first_use(__name__, **{name: f"{__name__}.judging:{name}" for name in __all__})
