"""What decides that a model is stuck, as a file says."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..config.collaboration import Help
from ..core.errors import ConfigError
from ..core.exchange import Usage
from ..judging.calibration import Calibration
from ..judging.detector import StuckDetector
from .models import Model

USUAL_CALL = Usage(1_500, 400)
"""The tokens that a helper is taken to read and write for one turn, before anything is known of the turns."""


def detector(said: Help, large: Model | None, base: Path) -> StuckDetector:
    """Raises `ConfigError` for a calibration that can't be read, and for dollars without a price."""
    if said.calibration is not None:
        return StuckDetector(said.threshold, calibration=_calibration(said.calibration, base))
    if said.max_cost is not None:
        return StuckDetector(said.threshold, help_rate=_affordable(said.max_cost, large))
    return StuckDetector(said.threshold, said.max_retries, help_rate=said.help_rate)


def _affordable(dollars: float, large: Model | None) -> float:
    """The share of turns that may get help; all of them where help is free."""
    if large is None or large.price is None:
        who = f"{large.name} has no known price" if large else "there is no model that helps"
        raise ConfigError(f"max_cost needs a price, and {who}; write one under prices:, or say help_rate.", "max_cost")
    each = large.price.cost(USUAL_CALL)
    return min(1.0, dollars / each) if each else 1.0


def _calibration(written: Any, base: Path) -> Calibration:
    if isinstance(written, Mapping):
        return Calibration.of_json(written)
    if not isinstance(written, str):
        raise ConfigError("calibration must be the path of a file or what `ai-battle calibrate` prints.", "calibration")
    path = base / os.path.expanduser(written)
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"The calibration {path} can't be read: {error.strerror}", "calibration") from error
    except ValueError as error:
        raise ConfigError(f"The calibration {path} is no JSON: {error}", "calibration") from error
    if not isinstance(found, Mapping):
        raise ConfigError(f"{path} is no calibration; `ai-battle calibrate --out FILE` writes one.", "calibration")
    return Calibration.of_json(found)
