"""Views of a run, rendered from its journal: at any time, as often as wanted, at the cost of no model call.

What the shadows of pairs have shown is imported when it is asked for: a server loads nothing else of this room.
"""

from typing import TYPE_CHECKING

from ..core.lazy import names_of

if TYPE_CHECKING:
    from .pair_evidence import read_evidence

__all__ = ["read_evidence"]

__getattr__ = names_of(__name__, {"pair_evidence": ("read_evidence",)})
