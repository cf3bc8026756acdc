"""Loads tools: built-in ones, those of installed packages, drop-in files, and modules by their dotted name."""

import importlib
import importlib.util
import inspect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from importlib.metadata import entry_points
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any

from ..config.packaged import packaged_tools
from ..config.tools import Tools
from ..core import plugins
from ..core.errors import ConfigError
from ..core.plugins import translate_errors
from .base import Tool, ToolRegistry
from .base import spec as described

BUILTIN = "ai_battle.tools.builtin"
GROUP = "ai_battle.tools"
Source = Tool | type[Tool]


@dataclass(frozen=True, slots=True)
class LoadContext:
    """The values that tools may ask for by parameter name in their constructors. No YAML sets `allow_unsandboxed`.

    Paths in the YAML are relative to `base`; `run_dir` is where the run is recorded.
    """

    workspace: Path
    base: Path = Path()
    sandbox: str = "auto"
    allow_unsandboxed: bool = False
    allow_hosts: tuple[str, ...] = ()
    run_dir: Path | None = None


def builtin_names() -> list[str]:
    """Returns the names of the tools in this package and in other installed ones."""
    return sorted({*_installed_names(), *packaged_tools()})


def build(settings: Tools, place: LoadContext) -> ToolRegistry:
    """Returns the tools of a file, whose code must be trusted by now. Raises `ConfigError` if one can't be loaded."""
    registry = ToolRegistry()
    if not settings.enabled:
        return registry
    dropped = _drop_in_tools(settings, place)
    given = {entry.name: entry.parameters for entry in settings.registry}
    disabled = {entry.name for entry in settings.registry if not entry.enabled}
    for name, source in dropped.items():
        if name not in disabled:
            registry.register_tool(make_tool(source, given.get(name, {}), place))
    for index, entry in enumerate(settings.registry):
        if entry.name not in {*disabled, *dropped}:
            where = f"discussion.tools.registry[{index}]: "
            registry.register_tool(by_name(entry.name, entry.parameters, place, where, dropped))
    return registry


def by_name(
    name: str, parameters: Mapping[str, Any], place: LoadContext, where: str = "", others: Iterable[str] = ()
) -> Tool:
    """Returns a built-in or installed tool, or that of the module with this dotted name, or of a Python file.

    Raises `ConfigError` for an unknown one, with the place of the name (`where`) and the most similar of all names.
    """
    if name in _builtin_files():
        return make_tool(_single(tools_of(importlib.import_module(f"{BUILTIN}.{name}")), name), parameters, place)
    for point in entry_points(group=GROUP, name=name):
        with translate_errors(f"The tool {name!r} does not load", ConfigError):
            found = point.load()
        return make_tool(_single(tools_of(found), name) if isinstance(found, ModuleType) else found, parameters, place)
    if file := packaged_tools().get(name):
        return make_tool(_single(from_file(file), name), parameters, place)
    if name.endswith(".py"):
        return make_tool(_single(from_file(python_files(place.base, name)[0]), name), parameters, place)
    if "." in name:
        with translate_errors(f"The tool {name!r} does not load", ConfigError):
            return make_tool(_single(tools_of(importlib.import_module(name)), name), parameters, place)
    raise ConfigError(f"{where}There is no tool {name!r}{plugins.near(name, [*builtin_names(), *others])}")


def from_file(path: Path) -> list[Source]:
    """Returns the tools that a Python file defines. Raises `ConfigError` if the file can't be run."""
    module = plugins.load_file(path, f"The tools of {path} do not load")
    if not (found := tools_of(module)):
        raise ConfigError(f"{path} has no tools; it needs a class derived from ai_battle.Tool or a function with @tool")
    return found


def tools_of(module: ModuleType) -> list[Source]:
    """Returns the tools that a module defines, without those that it imports."""
    return [thing for thing in vars(module).values() if _is_own_tool(thing, module)]


def make_tool(source: Source, parameters: Mapping[str, Any], place: LoadContext) -> Tool:
    """Returns a tool with its settings from the YAML, and what its constructor asks for from `place`."""
    name = getattr(source, "name", "") if isinstance(source, Tool) else source.__name__
    if isinstance(source, Tool):
        if parameters:
            raise ConfigError(f"{name} takes no parameters, so there is no place for {', '.join(parameters)}.")
        return source
    if "allow_unsandboxed" in parameters:
        raise ConfigError(f"{name}: allow_unsandboxed can be set only on the command line, not in a file.")
    plugins.check_options(source, name, parameters)
    wanted = inspect.signature(source).parameters
    given = {field.name: getattr(place, field.name) for field in fields(place) if field.name in wanted}
    with translate_errors(f"The tool {name} can't be made", ConfigError):
        return source(**{**given, **parameters})


def _drop_in_tools(settings: Tools, place: LoadContext) -> dict[str, Source]:
    found: dict[str, Source] = {}
    ours = {entry.name for entry in settings.registry if entry.enabled}.intersection(_installed_names())
    files = chain.from_iterable(python_files(place.base, path) for path in settings.paths)
    for path, source in ((file, source) for file in files for source in from_file(file)):
        if (name := _name_of(source, place)) in ours:
            way_out = f"Rename that one, or take {name} out of registry: to have only yours."
            raise ConfigError(f"Two tools are named {name!r}: an installed one, and one in {path}. {way_out}")
        if found.setdefault(name, source) is not source:
            raise ConfigError(f"Two tools are named {name!r}; the second is in {path}. Rename one of them.")
    return found


def python_files(base: Path, name: str) -> list[Path]:
    """Returns the file, or all those of a folder. Raises `ConfigError` if there are none."""
    path = (base / Path(name).expanduser()).absolute()
    if path.is_dir():
        return sorted(one for one in path.glob("*.py") if not one.name.startswith("_"))
    if not path.is_file():
        raise ConfigError(f"There is no file {path}; paths: names Python files with tools, or folders of them")
    if path.suffix != ".py":
        raise ConfigError(f"{path} is not a Python file with tools, such as dice.py")
    return [path]


def _name_of(source: Source, place: LoadContext) -> str:
    if isinstance(name := source.name, str):
        return name
    return described(make_tool(source, {}, place)).name


def _is_own_tool(thing: Any, module: ModuleType) -> bool:
    if isinstance(thing, Tool):
        return True
    concrete = inspect.isclass(thing) and issubclass(thing, Tool) and not inspect.isabstract(thing)
    return concrete and thing.__module__ == module.__name__


def _single(found: list[Source], name: str) -> Source:
    if len(found) != 1:
        raise ConfigError(f"{name} defines {len(found)} tools, so its name does not say which; use paths: instead.")
    return found[0]


def _installed_names() -> set[str]:
    """Returns the names of tools that no user's file may take; packaged drop-ins may be replaced."""
    return {*_builtin_files(), *(point.name for point in entry_points(group=GROUP))}


def _builtin_files() -> Iterator[str]:
    folder = Path(importlib.import_module(BUILTIN).__path__[0])
    return (path.stem for path in folder.glob("*.py") if not path.stem.startswith("_"))
