"""Loads the configuration of an earlier run, unchanged or with other models."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from ..config.documents import read_text
from ..config.loading import LoadedDiscussion, load
from ..config.tree import compose
from ..core.errors import ConfigError, JournalError
from ..core.plugins import near
from ..core.redaction import Redactor
from .person import keyboard
from .plan import Plan
from .reading import CONFIG, progress
from .resuming import events_through
from .setup import FileSetup, load_checked
from .state import State

_IDLE = {"type": "scripted", "script": ["(as recorded)"]}


def of_run(run_dir: Path) -> LoadedDiscussion:
    """Loads the configuration that a run was started with."""
    return replace(load_checked(str(_config_of(run_dir))), name=_name_of(run_dir))


def with_changes(run_dir: Path, models: Mapping[str, str], changes: Sequence[str]) -> LoadedDiscussion:
    """Loads a run's configuration with other models, by participant, and other changes (`path=value`)."""
    config = _kept_config(run_dir)
    earlier = config["discussion"]["models"]
    for name in models:
        require_participant(name, earlier)
    swapped = {name: {**_without_model(earlier[name]), "type": type_} for name, type_ in models.items()}
    config = {**config, "discussion": {**config["discussion"], "models": {**earlier, **swapped}}}
    return replace(load_checked(config, changes), name=_name_of(run_dir))


def setup_of_swap(run_dir: Path, name: str, model: str) -> FileSetup:
    """Returns the setup that replays a run with another model for one participant and no models for the others."""
    loaded = load_checked(recast(_kept_config(run_dir), name, model))
    return FileSetup.of(replace(loaded, name=f"{_name_of(run_dir)}-{name}-swapped"), keyboard)


def plan_of(run_dir: Path) -> tuple[Plan, Redactor]:
    """Returns the plan of a run, without its models, and the redactor for its secrets. Files it names may be gone."""
    source = FileSetup.of(load(config_without_models(_kept_config(run_dir))), keyboard)
    return source.build({}).plan, source.redactor


def is_over_after(run_dir: Path, turn: int) -> bool:
    """Checks whether a run's own configuration leaves nothing to be said after a turn."""
    plan, _ = plan_of(run_dir)
    state = State(plan)
    for event in events_through(run_dir, turn)[0]:
        state.apply(event)
    return bool(state.stop_reason) and not plan.outcome


def recast(config: Mapping[str, Any], name: str, type_: str) -> dict[str, Any]:
    """Returns the configuration with a model of `type_` for `name`, and scripts for all others: no keys, no servers.

    Nobody is helped, so only that model's own answers change. Raises `ConfigError` for an unknown participant.
    """
    require_participant(name, config["discussion"]["models"])
    return _cast(config, {name: {"type": type_}})


def config_without_models(config: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the configuration without models and without input files, since the journal contains the files."""
    section = {key: value for key, value in config["discussion"].items() if key not in ("input_file", "input_files")}
    others = {key: value for key, value in config.items() if key != "providers"}
    return _cast({**others, "discussion": section}, {})


def require_participant(name: str, names: Collection[str]) -> None:
    if name not in names:
        raise ConfigError(f"The run has no participant {name!r}{near(name, [*names])}")


def _cast(config: Mapping[str, Any], chosen: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    models = config["discussion"]["models"]
    cast = {name: {**_without_model(spec), **chosen.get(name, _IDLE)} for name, spec in models.items()}
    section = {key: value for key, value in config["discussion"].items() if key not in ("collaboration", "judge")}
    return {**config, "discussion": {**section, "models": cast}}


def _without_model(spec: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in spec.items() if key not in ("type", "script", "when", "loop", "pace")}


def _name_of(run_dir: Path) -> str:
    started = progress(run_dir).started
    return started.name if started else run_dir.name


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
    config = run_dir / CONFIG
    if not config.is_file():
        raise JournalError(f"{run_dir} has no {CONFIG}: this run was started from Python, not from a configuration.")
    return config
