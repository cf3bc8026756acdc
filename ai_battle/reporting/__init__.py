"""Views of a run, rendered from its journal: at any time, as often as wanted, at the cost of no model call."""

from typing import TYPE_CHECKING

from ..core.lazy import names_of

if TYPE_CHECKING:
    from .exporting import FORMATS, export
    from .writing import write_reports

_HOME = {"exporting": ("FORMATS", "export"), "writing": ("write_reports",)}

__all__ = ["FORMATS", "export", "write_reports"]

__getattr__ = names_of(__name__, _HOME)
