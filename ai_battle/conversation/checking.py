"""What only the conversation knows to be wrong with a checked file: templates and input files."""

from collections.abc import Iterator

from ..config import Loaded, Problem
from ..core.errors import ConfigError
from .casting import told
from .inputs import unreadable


def check(loaded: Loaded) -> list[Problem]:
    return [*_templates(loaded), *loaded.missing_files(), *unreadable(loaded)]


def _templates(loaded: Loaded) -> Iterator[Problem]:
    for name, spec in loaded.file.discussion.models.items():
        try:
            told(spec)
        except ConfigError as error:
            yield Problem(("discussion", "models", name, "instructions"), str(error))
