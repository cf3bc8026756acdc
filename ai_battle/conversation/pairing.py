"""A pair of models that a program sets up."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from .. import collaboration
from ..core.client import ModelClient
from ..core.errors import ConfigError
from .participant import Participant


@dataclass(frozen=True, slots=True)
class Pairing:
    """A model, the one that helps it, and when: the specification's four settings of a pair."""

    primary: str
    secondary: str
    threshold: float
    max_retries: int

    def __post_init__(self) -> None:
        for named in (self.primary, self.secondary):
            if not isinstance(named, str) or not named.strip():
                raise ConfigError(f"A participant's name or a model type is a text, not {named!r}.")
        if isinstance(self.threshold, bool) or not isinstance(self.threshold, int | float):
            raise ConfigError(f"threshold is a share from 0 to 1, not {self.threshold!r}.", "threshold")
        if isinstance(self.max_retries, bool) or not isinstance(self.max_retries, int):
            raise ConfigError(
                f"max_retries counts attempts, from 1 on; it can't be {self.max_retries!r}.", "max_retries"
            )

    @property
    def written(self) -> Mapping[str, Any]:
        """As a file would say it."""
        return asdict(self)

    def helps(self, participant: Participant) -> bool:
        return self.primary in (participant.name, participant.type)

    def made(self, primary: ModelClient, secondary: ModelClient) -> ModelClient:
        """The primary with help; raises `ConfigError` for settings that can't be."""
        detector = collaboration.StuckDetector(self.threshold, self.max_retries)
        return collaboration.ModelCollaborationProtocol(primary, secondary, detector)
