"""A discussion file, checked as far as that is possible without running it."""

from collections.abc import Sequence
from pathlib import Path

from ai_battle import assembly, conversation
from ai_battle.config import ConfigProblems, Loaded, load
from ai_battle.conversation.journal import progress
from ai_battle.core.errors import JournalError


def checked(config: str, overrides: Sequence[str] = ()) -> Loaded:
    """The loaded file; raises `ConfigError` with all that is wrong with it, its models and its inputs."""
    return _checked(load(config, overrides=overrides))


def of_run(run_dir: Path) -> Loaded:
    """The configuration that a run was started with; its relative paths start where those of the original did."""
    base = str(progress(run_dir).settings.get("base", ""))
    config = run_dir / "config.yaml"
    if not config.is_file():
        raise JournalError(f"{run_dir} has no config.yaml: only runs of a configuration can be taken up from here.")
    return _checked(load(config, base=Path(base) if base else None))


def _checked(loaded: Loaded) -> Loaded:
    if problems := [*assembly.check(loaded), *conversation.check(loaded)]:
        raise ConfigProblems(loaded.located(problem) for problem in problems)
    return loaded
