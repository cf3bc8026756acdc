"""Checked configuration to live clients: the only room that knows every mechanism.

What is named here is imported when it is asked for: whoever wants a client alone does not wait for tools.
"""

from typing import TYPE_CHECKING

from ..core.lazy import names_of

if TYPE_CHECKING:
    from ..providers._calls import RetryPolicy
    from .discussion import build, check, direct, named_code, participants_of, read_as_they_are
    from .models import NO_RECORDING, RecordingFiles, create_client, spelling
    from .recipes import Recipe, with_lessons
    from .shadows import promised_loss, require_self_calibrating, shadow_of, with_calibration

_HOME = {
    "discussion": ("build", "check", "direct", "participants_of", "named_code", "read_as_they_are"),
    "recipes": ("Recipe", "with_lessons"),
    "shadows": ("promised_loss", "require_self_calibrating", "shadow_of", "with_calibration"),
    "models": ("NO_RECORDING", "RecordingFiles", "RetryPolicy", "create_client", "spelling"),
}

__all__ = [
    "NO_RECORDING",
    "Recipe",
    "RecordingFiles",
    "RetryPolicy",
    "build",
    "check",
    "create_client",
    "direct",
    "named_code",
    "participants_of",
    "promised_loss",
    "read_as_they_are",
    "require_self_calibrating",
    "shadow_of",
    "spelling",
    "with_calibration",
    "with_lessons",
]

__getattr__ = names_of(__name__, _HOME)
