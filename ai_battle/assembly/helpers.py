"""Models that help another one: where they stand in its section, and how each is made."""

from collections.abc import Iterator
from dataclasses import replace

from ..config.collaboration import Help, HelperSettings
from ..config.problems import Path
from ..providers._voice import Voice
from .models import Model, participant
from .surroundings import Surroundings


def helpers_of(pair: Help) -> Iterator[tuple[Path, HelperSettings]]:
    """The models of a pair beside the primary, and where each stands in it."""
    yield from secondaries(pair)
    if pair.judge:
        yield ("judge",), pair.judge
    for key in ("models", "peers"):
        for index, helper in enumerate(getattr(pair, key)):
            yield (key, index), helper


def secondaries(pair: Help) -> Iterator[tuple[Path, HelperSettings]]:
    """One alone is written without a list."""
    for index, helper in enumerate(pair.secondary):
        yield ("secondary", index) if len(pair.secondary) > 1 else ("secondary",), helper


def helper(voice: str, settings: HelperSettings, around: Surroundings) -> Model:
    """A model under its own parameters; raises `ConfigError`. Only scripts tell under a name how far they are."""
    model = participant(voice, settings, around)
    if not model.options and model.name.provider != "scripted":
        return model
    return replace(model, client=Voice(model.client, voice, model.options))
