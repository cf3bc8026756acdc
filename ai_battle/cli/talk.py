"""`ai-battle talk`: a discussion from one line, converted to the configuration that a YAML would hold."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ..assembly.models import NO_RECORDING
from ..config.collaboration import USUAL_STRATEGY
from ..config.loading import LoadedDiscussion
from ..conversation.asking import ASKER_NAME, literal, load_composed, named_types, participants
from ..core.errors import ConfigError
from ..core.texts import one_line
from .arguments import MODEL, describe_with
from .options import (
    FOLDER,
    USD,
    WithStrategies,
    attached,
    changes,
    dry_run,
    for_tools,
    quiet,
    require_files,
    shortcuts,
    turns,
    verbose,
)
from .output import write_file
from .run import run_once
from .terminal import with_approval

ROUNDS, ROUNDS_WITH_YOU = 3, 100
"""With a person the talk lasts until that person ends it."""
NAME_WIDTH = 40


@click.command("talk", cls=WithStrategies)
@click.argument("topic")
@click.option(
    "-m", "--model", "models", type=MODEL, multiple=True, metavar="[NAME=]TYPE", help="A model that takes part."
)
@click.option("--me", is_flag=True, help="Take part yourself, at the keyboard.")
@click.option("--helper", type=MODEL, default="", help="A larger model, asked where an answer looks poor.")
@click.option("--strategy", metavar="NAME", default=USUAL_STRATEGY, help="How the helper helps.")
@click.option("--tools", metavar="A,B", default="", help="Tools for the models: calculator,web_search.")
@attached
@describe_with
@changes
@turns
@click.option("--max-cost", type=USD, metavar="USD", help="The most that it may cost.")
@click.option("--out", type=FOLDER, help="The run directory, by default one under runs/.")
@click.option("--save", type=click.Path(path_type=Path), help="Write the talk as a YAML file too, for `run`.")
@quiet
@verbose
@dry_run
@for_tools
def command(topic: str, models: tuple[str, ...], me: bool, **how: Any) -> int:
    """Let models talk about TOPIC, also with you (--me). No file is needed."""
    if how["save"] and how["save"].exists():
        raise ConfigError(f"{how['save']} exists; name another file with --save.")
    require_files(how["files"])
    config = recipe(topic, named_types(models), me, how)
    settings = (*how["changes"], *shortcuts(how["turns"], how["max_cost"]))
    loaded = load_composed(config, settings)
    loaded = with_approval(replace(loaded, name=one_line(topic, NAME_WIDTH)), how["approve"])
    if how["save"]:
        _save(loaded, how["save"])
    return run_once(loaded, NO_RECORDING, how)


def recipe(topic: str, types: Mapping[str, str], me: bool, how: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the talk as the section of a discussion. Raises `click.UsageError` if nobody could answer."""
    _require_two(types, me)
    discussion = participants(types, how["helper"], how["strategy"])
    if me:
        discussion["models"] = {ASKER_NAME: {"role": "user"}, **discussion["models"]}
    rounds, mode = (ROUNDS_WITH_YOU, "human-ai") if me else (ROUNDS, "ai-ai")
    discussion |= {"turns": rounds, "mode": mode, "goal": literal(topic)}
    if how["files"]:
        discussion["input_files"] = [str(file) for file in how["files"]]
    if how["describe_with"]:
        discussion["describe_with"] = how["describe_with"]
    if how["tools"]:
        discussion["tools"] = {"registry": how["tools"].replace(",", " ").split()}
    return discussion


def _require_two(types: Mapping[str, str], me: bool) -> None:
    if not types:
        raise click.UsageError(
            "A talk needs models: name them with -m, for example -m ollama/gemma3:4b -m gpt-4o. "
            "`ai-battle models list` shows those that you can reach."
        )
    if len(types) == 1 and not me:
        (only,) = types.values()
        raise click.UsageError(f"{only} is alone: name another model with -m, or take part yourself with --me.")


def _save(loaded: LoadedDiscussion, path: Path) -> None:
    write_file(path, [loaded.as_yaml(), "\n"], "--save")
    click.echo(f"{path} written; to talk again: ai-battle run {path}", err=True)
