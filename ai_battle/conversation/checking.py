"""All that can be known to be wrong with a discussion before it runs."""

from collections.abc import Iterator, Sequence

from .. import assembly
from ..config import Loaded, Problem, Source, load
from ..core.errors import ConfigError
from . import inputs
from .casting import ignored_params, instructions_of


def checked(
    source: Source, overrides: Sequence[str] = (), tapes: assembly.RecordingFiles = assembly.NO_RECORDING
) -> Loaded:
    """The loaded file; raises `ConfigError` with all that is wrong with it, its models and its inputs."""
    return load(source, overrides=overrides, also=lambda loaded: [*assembly.check(loaded, tapes), *check(loaded)])


def check(loaded: Loaded) -> list[Problem]:
    """What only the conversation knows to be wrong: templates and input files."""
    return [*_templates(loaded), *loaded.missing_files(), *inputs.unreadable(loaded)]


def notes(loaded: Loaded) -> tuple[str, ...]:
    """What the user of a file that is right should know before it runs."""
    return (*loaded.notes, *ignored_params(loaded), *inputs.notes(loaded))


def _templates(loaded: Loaded) -> Iterator[Problem]:
    said = loaded.file.discussion
    for name, spec in said.models.items():
        try:
            instructions_of(spec, said.goal)
        except ConfigError as error:
            yield Problem(("discussion", "models", name, "instructions"), str(error))
