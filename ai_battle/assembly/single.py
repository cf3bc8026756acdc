"""A client for a single turn outside of a run: a participant's or any model's, with the help that a file gives it."""

from ..config import Loaded
from ..config.collaboration import HelperSettings
from ..core.client import ModelClient
from . import pairs
from .models import BuildContext, participant, require_local
from .pairing import Workshop


def direct(loaded: Loaded, named: str) -> ModelClient:
    """A client for a participant's name or a model type, as the file describes it; raises `ConfigError`.

    It has no tools, which belong to a run.
    """
    said, around = loaded.file.discussion, BuildContext.of(loaded)
    placed = pairs.placed(said, around)
    name = next(iter(pairs.helped(named, said, around)), named)
    spec = said.models.get(name) or HelperSettings(type=named)
    model = participant(name, spec, around)
    if said.local_only:
        require_local(name, model)
    return Workshop(said, around).pair_up(name, model, pairs.of(name, placed)).client


def helped(loaded: Loaded, named: str) -> tuple[str, ...]:
    """The participants of a file that a name stands for, or a model type in any spelling."""
    return pairs.helped(named, loaded.file.discussion, BuildContext.of(loaded))
