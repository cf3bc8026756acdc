"""Checked configuration to live clients: the only room that knows every mechanism.

What belongs to pairs is imported when it is asked for: discussions without any do not wait for it.
"""

from typing import TYPE_CHECKING

from ..core.lazy import names_of

if TYPE_CHECKING:
    from .recipes import Recipe, with_lessons
    from .shadows import promised_loss, require_self_calibrating, shadow_of, with_calibration

_HOME = {
    "recipes": ("Recipe", "with_lessons"),
    "shadows": ("promised_loss", "require_self_calibrating", "shadow_of", "with_calibration"),
}

__all__ = [
    "Recipe",
    "promised_loss",
    "require_self_calibrating",
    "shadow_of",
    "with_calibration",
    "with_lessons",
]

__getattr__ = names_of(__name__, _HOME)
