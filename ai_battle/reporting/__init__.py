"""Views of a run, rendered from its journal: at any time, as often as wanted, at the cost of no model call."""

from typing import TYPE_CHECKING

from ..core.lazy import names_of

if TYPE_CHECKING:
    from .exports import FORMATS, export, write_reports
    from .pair_evidence import read_evidence

_HOME = {"exports": ("FORMATS", "export", "write_reports"), "pair_evidence": ("read_evidence",)}

__all__ = ["FORMATS", "export", "read_evidence", "write_reports"]

__getattr__ = names_of(__name__, _HOME)
