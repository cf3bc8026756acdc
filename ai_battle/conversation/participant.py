"""Who takes part: a name, the model behind it, and what makes it itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from ..core.client import ModelClient
from .helped import Cost

ParticipantRole: TypeAlias = Literal["human", "assistant", "moderator", "observer", "user"]


@dataclass(frozen=True, slots=True)
class Participant:
    """One voice. `parameters` are its sampling options, `window` is how many tokens its model can read (None: unknown).

    The roles: a moderator opens, closes and may choose who speaks; an observer hears all and speaks once, at the end;
    a user is a person; human and assistant are the two sides of `mode: human-ai`. `large` is what a usage would cost on
    the model that helps this one, if there is one.
    """

    name: str
    client: ModelClient
    persona: str = ""
    instructions: str = ""
    role: ParticipantRole = "assistant"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    window: int | None = None
    type: str = ""
    large: Cost | None = None
