"""Options and option types that several commands share."""

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from pathlib import Path
from typing import Any, TypeVar

import click

from ..assembly.discussion import named_code
from ..assembly.trust import is_trusted, remember_trust, trust_digest
from ..config.documents import ConfigDocument
from ..config.loading import LoadedDiscussion
from ..core.errors import ConfigError
from ..core.files import state_directory
from ..core.object_store import WorkingCopy, is_address
from ..core.redis_scripts import store_place

approve = click.option(
    "--approve",
    metavar="ask|allow|deny",
    default="",
    help="Decides tool calls, also of single tools: ask,calculator=allow,code_execution=deny.",
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout, all else on stderr.")
quiet = click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
trust = click.option("--trust", is_flag=True, help="Run code that the file names without asking.")
allow_unsandboxed = click.option(
    "--allow-unsandboxed", is_flag=True, help="Let code run without a fence, if the file says so too."
)
changes = click.option(
    "--set", "changes", multiple=True, metavar="PATH=VALUE", help="Change a key: discussion.turns=5."
)
turns = click.option("--turns", type=click.IntRange(1), help="How many rounds: everyone speaks once per round.")
verbose = click.option(
    "-v", "--verbose", is_flag=True, help="Show the models' reasoning too, and everything that helpers said."
)
dry_run = click.option(
    "--dry-run", is_flag=True, help="Show the first requests and a forecast of the cost; call no model."
)


class UserPath(click.Path):
    """A path that may begin with `~`, which shells leave alone in `--file=~/note.txt`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return super().convert(os.path.expanduser(value), param, ctx)


attached = click.option(
    "-f",
    "--file",
    "files",
    multiple=True,
    type=UserPath(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="A text, table, picture, PDF or video to attach to the first message.",
)
judge = click.option(
    "--judge",
    metavar="TYPE",
    callback=lambda context, parameter, value: value or None,  # a shell's variable may be empty
    help="Let this model judge each run, by the usual rubric.",
)


class StorePlace(click.ParamType[Path | str]):
    """A folder, or the address of a Redis."""

    name = "place"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path | str:
        try:
            return store_place(value)
        except ConfigError as error:
            self.fail(str(error), param, ctx)


in_state = click.option(
    "--state",
    type=StorePlace(),
    default=state_directory,
    metavar="DIR|URL",
    help="Where evidence is kept: by default in XDG_STATE_HOME; servers may share a redis:// address.",
)
max_time = click.option(
    "--max-time",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="The longest that it may take; of several runs, all together.",
)


class Folder(click.Path):
    """A folder, or the `s3://` address of one: then a local copy, which is stored there when the command ends.

    With `claims` the command writes there, and claims it so that nobody else does meanwhile.
    """

    def __init__(self, *, claims: bool = True) -> None:
        super().__init__(path_type=Path)
        self.claims = claims

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if ctx is None or not is_address(value):
            return super().convert(value, param, ctx)
        # The root context closes last, so the copy is stored after everything has been written.
        copy = WorkingCopy(str(value), claim=self.claims, tell=lambda words: click.echo(words, err=True))
        return ctx.find_root().with_resource(copy)


FOLDER, UNCLAIMED = Folder(), Folder(claims=False)
USD = click.FloatRange(0, min_open=True)


SHORTCUTS = {
    **{name: f"discussion.{name}" for name in ("turns", "goal", "judge")},
    "max_cost": "discussion.limits.cost_usd",
    "max_time": "discussion.limits.seconds",
}
"""The key that an option changes."""


def shortcuts(options: Mapping[str, Any], *names: str) -> Iterator[str]:
    """Yields what the named options mean as `--set` options, if they were given."""
    given = ((SHORTCUTS[name], options[name]) for name in names if options[name] is not None)
    return (f"{key}={json.dumps(value)}" for key, value in given)


def split_swap(spelled: str) -> tuple[str, str]:
    """Returns the participant and the model type of a `--swap`. Raises `click.BadParameter` if one is missing."""
    name, _, model = spelled.partition("=")
    if not name or not model:
        raise click.BadParameter("write it as PARTICIPANT=TYPE, for example Ann=gpt-4o", param_hint="--swap")
    return name, model


C = TypeVar("C", bound=Callable[..., Any] | click.Command)


def together(*options: Callable[[C], C]) -> Callable[[C], C]:
    """Combines options into one decorator, which help lists in this order."""
    return lambda command: reduce(lambda inner, option: option(inner), reversed(options), command)


at_once = click.option(
    "--at-once",
    type=click.IntRange(1, 1000),
    help="How many runs to play at once; several are not shown while they run.",
)


executor = click.option(
    "--executor", metavar="NAME", default="", help="Where runs are played: ray is a cluster, local is this machine."
)
address = click.option(
    "--address",
    metavar="HOST:PORT",
    default="",
    help="The head of the Ray cluster; by default RAY_ADDRESS, or a new one here.",
)

for_several = together(max_time, judge, at_once, executor, address)
"""Options of commands that play a series."""

for_tools = together(trust, allow_unsandboxed, approve, as_json)
"""Options of commands whose participants call tools, with `--json`."""


class WithStrategies(click.Command):
    """A command whose help lists the installed strategies, which are looked up only when it is shown."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from ..assembly import strategies

        measured = {name: bool(strategies.traits(name).measured) for name in strategies.names()}
        known = ", ".join(name for name in measured if measured[name])
        others = ", ".join(name for name in measured if not measured[name])
        self.epilog = f"Strategies of pairs: {known}; experimental, as no figure of theirs was measured yet: {others}."
        super().format_epilog(ctx, formatter)


def require_trust(loaded: LoadedDiscussion, *, given: bool, ask: bool = True) -> None:
    """Asks for trust in the code that a discussion names."""
    require_trust_in(loaded, named_code(loaded), given=given, ask=ask)


def require_trust_in(loaded: ConfigDocument, code: Iterable[str], *, given: bool, ask: bool = True) -> None:
    """Asks on a terminal and remembers the answer. Elsewhere raises a `ConfigError` saying how to give it."""
    modules = ", ".join(code)
    digest = trust_digest(loaded, code)
    if not modules or given or is_trusted(digest):
        return
    if not ask or not sys.stdin.isatty():
        raise ConfigError(f"{loaded.shown} runs code of its own ({modules}). If you know it, say so: --trust")
    click.confirm(f"{loaded.shown} runs code of its own: {modules}. Do you trust it?", abort=True, err=True)
    remember_trust(digest)
