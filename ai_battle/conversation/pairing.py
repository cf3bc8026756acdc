"""A pair of models that a program sets up."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ..collaboration import ModelCollaborationProtocol, StuckDetector
from ..core.client import ModelClient
from .participant import Participant


@dataclass(frozen=True, slots=True)
class Pairing:
    """A model, the one that helps it, and when: the specification's four settings of a pair."""

    primary: str
    secondary: str
    threshold: float
    max_retries: int

    @property
    def written(self) -> Mapping[str, Any]:
        """As a file would say it."""
        return asdict(self)

    def helps(self, participant: Participant) -> bool:
        return self.primary in (participant.name, participant.type)

    def made(self, primary: ModelClient, secondary: ModelClient) -> ModelClient:
        """The primary with help; raises `ConfigError` for settings that can't be."""
        return ModelCollaborationProtocol(primary, secondary, StuckDetector(self.threshold, self.max_retries))
