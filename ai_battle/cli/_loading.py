"""A discussion file, checked as far as that is possible without running it."""

from collections.abc import Sequence
from pathlib import Path

import yaml

from ai_battle import assembly, conversation
from ai_battle.config import ConfigProblems, Loaded, load
from ai_battle.conversation import replay
from ai_battle.conversation.casting import Cast, FromFile
from ai_battle.conversation.journal import progress
from ai_battle.conversation.person import keyboard
from ai_battle.core.errors import JournalError


def checked(config: str, overrides: Sequence[str] = ()) -> Loaded:
    """The loaded file; raises `ConfigError` with all that is wrong with it, its models and its inputs."""
    return _checked(load(config, overrides=overrides))


def of_run(run_dir: Path) -> Loaded:
    """The configuration that a run was started with."""
    return _checked(load(str(_config_of(run_dir))))


def recast(run_dir: Path, name: str, model: str) -> Cast:
    """What a run needs to be played again with another model for one participant; nobody else gets one."""
    written = yaml.safe_load(_config_of(run_dir).read_text(encoding="utf-8"))
    return FromFile.of(_checked(load(replay.recast(written, name, model))), keyboard).cast({})


def _config_of(run_dir: Path) -> Path:
    progress(run_dir)
    config = run_dir / "config.yaml"
    if not config.is_file():
        raise JournalError(f"{run_dir} has no config.yaml: this run was started from Python, not from a configuration.")
    return config


def _checked(loaded: Loaded) -> Loaded:
    if problems := [*assembly.check(loaded), *conversation.check(loaded)]:
        raise ConfigProblems(loaded.located(problem) for problem in problems)
    return loaded
