"""Input files: what participants get to see with the first prompt."""

from dataclasses import dataclass

from ..config import Loaded
from ..core.messages import Part


@dataclass(frozen=True, slots=True)
class Inputs:
    parts: tuple[Part, ...] = ()
    warnings: tuple[str, ...] = ()


def read_all(loaded: Loaded) -> Inputs:
    return Inputs()
