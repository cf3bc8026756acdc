"""`ai-battle configs`, `schema` and `init`: what comes with the package, and a file to start from."""

import json
import re
import shutil
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from string import Template

import click
import yaml

from ..config.editors import SCHEMAS, json_schema
from ..config.packaged import description, in_brief, packaged_names, require_packaged
from ..conversation.templates import PACKAGED
from ..core.errors import ConfigError
from ..providers._endpoints import packaged_providers, provider_traits
from .arguments import ConfigName
from .models import SurveyedProvider, survey
from .options import as_json
from .output import print_json, show_rows, write_file


@click.group("configs", invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """List and show the discussions that come with ai-battle."""
    if context.invoked_subcommand is None:
        context.invoke(list_)


@command.command("list")
@as_json
def list_(as_json: bool) -> None:
    """List them, with what each shows and needs."""
    found = {name: description(_text(name)) for name in packaged_names()}
    if as_json:
        print_json(found)
        return
    show_rows(("config", "what it shows", "needs"), ((name, *in_brief(text)) for name, text in found.items()))
    click.echo("ai-battle run NAME runs one, ai-battle init NAME writes it here as a file of yours.", err=True)


@command.command("show")
@click.argument("name", type=ConfigName())
def show(name: str) -> None:
    """Print the YAML of NAME."""
    click.echo(_text(name), nl=False)


@command.command("templates")
@click.argument("name", required=False)
@as_json
def templates(name: str | None, as_json: bool) -> None:
    """List the templates of instructions, or print that of NAME. The list has their parameters."""
    if name:
        click.echo(PACKAGED.read(name).template)
        return
    found = {each: PACKAGED.read(each) for each in PACKAGED.names}
    if as_json:
        print_json({each: {"params": found[each].get_identifiers(), "text": found[each].template} for each in found})
        return
    rows = ((each, ", ".join(found[each].get_identifiers()), found[each].template.split("\n")[0]) for each in found)
    show_rows(("template", "params", "begins"), rows)


def _text(name: str) -> str:
    return require_packaged(name).read_text(encoding="utf-8")


@click.command("schema")
@click.argument("kind", type=click.Choice([*SCHEMAS]), default="discussion")
def schema(kind: str) -> None:
    """Print the JSON Schema of a YAML format, for editors."""
    click.echo(json.dumps(json_schema(kind, packaged_providers()), indent=2, ensure_ascii=False))


@click.command("init")
@click.argument("template", type=ConfigName(), required=False)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="The file to write; by default its own name.")
def init(template: str | None, output: Path | None) -> None:
    """Write a discussion to start from. TEMPLATE is the name of a packaged one; without it, one for your models."""
    path = output or Path(f"{template or 'discussion'}.yaml")
    if path.exists():
        raise ConfigError(f"{path} exists; name another file with --output.")
    written = copy_packaged(template, path) if template else write_starter(path)
    for one in written:
        click.echo(f"{one} written", err=True)
    click.echo(f"ai-battle run {path}")


SCHEMA = files("ai_battle.config") / "schemas" / "discussion.json"
SCHEMA_FILE = "discussion.schema.json"
BILLIONS = re.compile(r"(\d+(?:\.\d+)?)b\b", re.IGNORECASE)
PAIR = """\
  collaboration:                # the small model asks the large one where its answer looks poor
    pairs: [{{primary: Planner, secondary: {}, strategy: rescue, help_rate: 0.2}}]
"""
NO_CONVERSATION = ("embed", "bge-", "whisper", "tts", "rerank")


def copy_packaged(name: str, path: Path) -> Sequence[Path]:
    """Copies a packaged discussion with the files that it reads to the user's `path`."""
    source = require_packaged(name)
    text = source.read_text(encoding="utf-8")
    write_file(path, ["\n".join([_schema_line(), *text.splitlines()[1:], ""])], "--output")
    return [path, *_with_schema(path), *_with_inputs(text, source.parent, path.parent)]


def write_starter(path: Path) -> Sequence[Path]:
    """Writes a discussion between two available models, or between scripted ones if there are none."""
    local, cloud = _choice(survey())
    types = [*local[:1], *cloud[:1], *local[:0:-1], *cloud[1:2]][:2]
    if not types:
        return copy_packaged("quickstart", path)
    template = Template((files(__package__) / "starter.yaml").read_text(encoding="utf-8"))
    pair = PAIR.format(types[-1]) if _is_larger(types[-1], types[0], cloud) else ""
    text = template.substitute(first=types[0], second=types[-1], pair=pair)
    write_file(path, [_schema_line(), "\n", text], "--output")
    return [path, *_with_schema(path)]


def _choice(found: Sequence[SurveyedProvider]) -> tuple[list[str], list[str]]:
    """Returns the models of this machine, the smallest first, and the starter models that cloud providers name."""
    ready = [(one, provider_traits(one.provider).starter) for one in found if one.state == "ready"]
    local = [f"{one.provider}/{model}" for one, starter in ready if not starter for model in _chat_models(one)]
    return _small_first(local), [starter for _, starter in ready if starter]


def _small_first(models: Sequence[str]) -> list[str]:
    """Sorts models by the size in their names, those without one last."""
    sizes = {each: float(found[1]) for each in models if (found := BILLIONS.search(each))}
    return sorted(models, key=lambda each: sizes.get(each, float("inf")))


def _is_larger(large: str, small: str, cloud: Sequence[str]) -> bool:
    """Compares two models: a cloud model is larger than a local one; local ones compare by the size in their names."""
    of_cloud = [each in cloud for each in (large, small)]
    sizes = [float(found[1]) for each in (large, small) if (found := BILLIONS.search(each))]
    return of_cloud == [True, False] or (of_cloud == [False, False] and len(sizes) == 2 and sizes[0] >= 2 * sizes[1])


def _chat_models(found: SurveyedProvider) -> list[str]:
    return [model.name for model in found.models if not any(word in model.name.lower() for word in NO_CONVERSATION)]


def _schema_line() -> str:
    return f"# yaml-language-server: $schema=./{SCHEMA_FILE}"


def _with_schema(path: Path) -> Iterator[Path]:
    """Copies the schema next to the file, so that the folder can be moved and shared."""
    copy = path.parent / SCHEMA_FILE
    if not copy.exists() or copy.read_bytes() != SCHEMA.read_bytes():
        write_file(copy, [SCHEMA.read_text(encoding="utf-8")], "--output")
        yield copy


def _with_inputs(text: str, source: Path, target: Path) -> Iterator[Path]:
    discussion = yaml.safe_load(text)["discussion"]
    for file in filter(None, [discussion.get("input_file"), *discussion.get("input_files", {}).get("files", [])]):
        place = target / file["path"]
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / file["path"], place)
            yield place
