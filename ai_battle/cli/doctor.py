"""`ai-battle doctor`: checks what is installed, reachable and usable here, and says how to fix what is not."""

import importlib.util
import os
import platform
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import click

from .. import __version__
from ..assembly.strategies import STRATEGIES
from ..benchmark.datasets import DATASETS
from ..benchmark.scorers import SCORERS
from ..core import plugins
from ..core.errors import ConfigError
from ..core.files import cache_directory
from ..providers._endpoints import provider_traits
from ..tools.loading import GROUP as TOOLS
from ..tools.sandbox import NoFence, choose
from .models import SurveyedProvider, survey
from .options import as_json
from .output import print_json, show_rows

MARKS = {"ok": ("✓", "green"), "missing": ("✗", "red"), "optional": ("·", "yellow")}


@click.command("doctor")
@as_json
def command(as_json: bool) -> None:
    """Check what this machine has, and say how to get what it lacks."""
    found = findings()
    if as_json:
        print_json([asdict(finding) for finding in found])
        return
    show_rows(("", "", ""), map(_row, found), show_header=False)


EXTRAS = {
    "xllamacpp": ("local", "GGUF files inside this process"),
    "PIL": ("images", "scaling down large pictures"),
    "mcp": ("mcp", "tools of MCP servers"),
    "pypdf": ("pdf", "the text of PDF files"),
    "redis": ("redis", "counts shared by servers on several machines"),
    "sqlalchemy": ("database", "databases other than SQLite"),
}


KINDS = {STRATEGIES: "strategy", TOOLS: "tool", DATASETS: "format of datasets", SCORERS: "scorer"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding. `optional` means missing but not needed; `mend` says how to fix it."""

    subject: str
    state: Literal["ok", "missing", "optional"]
    message: str
    mend: str = ""


def _row(finding: Finding) -> tuple[str, ...]:
    mark, colour = MARKS[finding.state]
    mend = click.style(f"\n{finding.mend}", dim=True) if finding.mend else ""
    return click.style(mark, fg=colour), finding.subject, finding.message + mend


def findings() -> list[Finding]:
    found = survey()
    return [*_installation(), *_plug_ins(), *_places(), _fence(), *map(_provider, found), *_conclusion(found)]


def _installation() -> Iterator[Finding]:
    yield Finding("ai-battle", "ok", f"{__version__} on Python {platform.python_version()}, {platform.system()}")
    for module, (extra, brings) in EXTRAS.items():
        if importlib.util.find_spec(module):
            yield Finding(f"[{extra}]", "ok", brings)
        else:
            yield Finding(f"[{extra}]", "optional", f"not installed: {brings}", f"pip install 'ai-battle[{extra}]'")


def _plug_ins() -> Iterator[Finding]:
    """Yields the plug-ins of other packages, except providers, which are asked for their models."""
    for package, kind in KINDS.items():
        for name, point in plugins.plug_ins(package).items():
            try:
                plugins.load(package, name)
            except ConfigError as error:
                yield Finding(name, "missing", str(error))
            else:
                origin = point.dist.name if point.dist else point.value
                yield Finding(name, "ok", f"a {kind} that comes with {origin}")


def _places() -> Iterator[Finding]:
    yield _writable("runs", Path.cwd(), "run directories are made here", "go to another folder, or use run --out DIR")
    yield _writable("cache", cache_directory(), "what models refuse is remembered here", "set XDG_CACHE_HOME")


def _fence() -> Finding:
    try:
        fence = choose()
    except NoFence as error:
        return Finding("fence", "optional", str(error))
    return Finding("fence", "ok", f"code that models write runs in {fence.name}: {', '.join(fence.layers)}")


def _writable(subject: str, path: Path, purpose: str, mend: str) -> Finding:
    there = next(parent for parent in (path, *path.parents) if parent.exists())
    if os.access(there, os.W_OK):
        return Finding(subject, "ok", f"{path}: {purpose}")
    return Finding(subject, "missing", f"{path} can't be written", mend)


def _provider(found: SurveyedProvider) -> Finding:
    traits = provider_traits(found.provider)
    if found.state == "ready" and (found.models or not traits.local):
        return Finding(found.provider, "ok", _model_list(found))
    if found.state == "ready":
        return Finding(found.provider, "optional", "no models", traits.get_model)
    wrong = found.state == "out of reach" and not traits.local
    message, _, mend = found.message.partition(": set the environment")
    return Finding(found.provider, "missing" if wrong else "optional", message, mend and f"set the environment{mend}")


def _model_list(found: SurveyedProvider) -> str:
    names = ", ".join(model.name for model in found.models[:4])
    more = f" and {len(found.models) - 4} more" if len(found.models) > 4 else ""
    return f"{len(found.models)} models: {names}{more}"


def _conclusion(found: Iterable[SurveyedProvider]) -> Iterator[Finding]:
    ready = [one.provider for one in found if one.models]
    if ready:
        message = f"there are models for a first discussion, of {' and '.join(ready[:2])}; this writes one"
        yield Finding("next", "ok", message, "ai-battle init")
    else:
        message = "no model yet, but scripted ones work: ai-battle run quickstart"
        yield Finding("next", "optional", message, "install Ollama from ollama.com, or set one of the keys above")
