"""Loads the configuration of an earlier run, unchanged or with other models."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from ..config.documents import read_text
from ..config.loading import LoadedDiscussion
from ..config.tree import compose
from ..core.errors import ConfigError, JournalError
from ..core.redaction import Redactor
from . import replay
from .person import keyboard
from .plan import Plan
from .reading import progress
from .setup import FileSetup, load_checked


def of_run(run_dir: Path) -> LoadedDiscussion:
    """Loads the configuration that a run was started with."""
    return replace(load_checked(str(_config_of(run_dir))), name=_name_of(run_dir))


def with_changes(run_dir: Path, models: Mapping[str, str], changes: Sequence[str]) -> LoadedDiscussion:
    """Loads a run's configuration with other models, by participant, and other changes (`path=value`)."""
    config = _kept_config(run_dir)
    for name, model in models.items():
        config = replay.with_model(config, name, model)
    return replace(load_checked(config, changes), name=_name_of(run_dir))


def _name_of(run_dir: Path) -> str:
    started = progress(run_dir).started
    return started.name if started else run_dir.name


def recast(run_dir: Path, name: str, model: str) -> FileSetup:
    """Returns the setup that replays a run with another model for one participant and no models for the others."""
    loaded = load_checked(replay.recast(_kept_config(run_dir), name, model))
    return FileSetup.of(replace(loaded, name=f"{_name_of(run_dir)}-{name}-swapped"), keyboard)


def plan_of(run_dir: Path) -> tuple[Plan, Redactor]:
    """Returns the plan of a run, without its models, and the redactor for its secrets."""
    source = FileSetup.of(load_checked(replay.config_without_models(_kept_config(run_dir))), keyboard)
    return source.build({}).plan, source.redactor


def _kept_config(run_dir: Path) -> dict[str, Any]:
    """Reads the saved configuration. Raises `ConfigError` if it no longer holds a discussion."""
    path = _config_of(run_dir)
    compose(text := read_text(path, str(path)), str(path))
    match yaml.safe_load(text):
        case {"discussion": {"models": dict()}} as written:
            return dict(written)
    raise ConfigError(f"{path} was changed and holds no discussion; restore the one that the run was started with.")


def _config_of(run_dir: Path) -> Path:
    progress(run_dir)
    config = run_dir / "config.yaml"
    if not config.is_file():
        raise JournalError(f"{run_dir} has no config.yaml: this run was started from Python, not from a configuration.")
    return config
