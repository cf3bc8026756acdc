"""Finds plug-ins by name (a module of a package, an entry point, a file, a dotted path); translates their errors."""

import hashlib
import importlib
import importlib.util
import inspect
import os
import pkgutil
import sys
from asyncio import CancelledError
from collections.abc import Callable, Iterable, Mapping
from contextlib import redirect_stdout, suppress
from functools import cache, lru_cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from traceback import walk_tb
from types import ModuleType, TracebackType
from typing import Any, TypeVar, cast

from .errors import AIBattleError, ConfigError

T = TypeVar("T")


def names(package: str) -> list[str]:
    """Returns the plug-ins of a package such as "ai_battle.providers": its public modules and entry points."""
    return sorted({*module_names(package), *plug_ins(package)})


def is_there(package: str, name: str) -> bool:
    """Returns whether a plug-in has that name. Entry points are read only if no module matches."""
    return name in module_names(package) or name in plug_ins(package)


def with_file(package: str, name: str, base: Path) -> str:
    """Returns the path of the file in `base` that is meant (`mine.py` by `mine`), unless a plug-in has the name."""
    file = base / (name if name.endswith(".py") else f"{name}.py")
    may_be_file = name.endswith(".py") or (name.isidentifier() and not is_there(package, name))
    return str(file.resolve()) if may_be_file and file.is_file() else name


def load(package: str, name: str) -> Any:
    """Returns the module, or the object that the entry point names. Raises `ConfigError` with similar names."""
    if name.isidentifier() and not name.startswith("_") and importlib.util.find_spec(f"{package}.{name}"):
        return importlib.import_module(f"{package}.{name}")
    if name.endswith(".py"):
        return load_file(Path(name), f"The file {name} does not load")
    if found := plug_ins(package).get(name):
        with translate_errors(f"The plug-in {name!r} does not load", ConfigError):
            return found.load()
    if "." in name:
        with translate_errors(f"The module {name!r} does not load", ConfigError):
            return importlib.import_module(name)
    raise ConfigError(f"{package.rpartition('.')[2]} has no {name!r}{near(name, names(package))}")


def on_first_use(module: str, **homes: str) -> Callable[[str], Any]:
    """Returns a module's `__getattr__` (PEP 562), which imports names from `package.module:name` at their first use.

    A home without a name after the colon is the module itself.
    """

    def find(name: str) -> Any:
        if name in homes:
            return pkgutil.resolve_name(homes[name])
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return find


def load_file(path: Path, failed: str) -> ModuleType:
    """Returns the module in a Python file. Raises `ConfigError` beginning with `failed` if it can't be run."""
    # The path is part of the name: two files of the same stem must not replace each other in sys.modules.
    name = f"ai_battle_drop_in_{path.stem}_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec
    assert spec.loader
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    # What the file prints must not mix with our output, which other programs may parse.
    with translate_errors(failed, ConfigError), redirect_stdout(sys.stderr):
        try:
            spec.loader.exec_module(module)
        except SystemExit as error:
            raise ConfigError(f"{failed}: the file ends the program ({error.code})") from error
        except ConfigError as error:
            raise ConfigError(f"{failed}: {error}") from error
    return module


def create(package: str, name: str, *args: Any, **options: Any) -> Any:
    """Returns `load(package, name).create(*args, **options)`. Raises `ConfigError` for unknown or missing options."""
    create_ = factory(package, name)
    check_options(create_, name, options)
    # bind() checks the options up front, so that a TypeError inside create() is not mistaken for a wrong option.
    try:
        _signature(create_).bind(*args, **options)
    except TypeError as error:
        raise ConfigError(f"{name} can't be created with these options: {error}.") from error
    return create_(*args, **options)


def factory(package: str, name: str) -> Callable[..., Any]:
    """Returns the function `create` of a plug-in. Raises `ConfigError` if it has none."""
    found = getattr(load(package, name), "create", None)
    if not callable(found):
        raise ConfigError(f"{name!r} has no function 'create', so it can't be used as one of {package}.")
    return cast(Callable[..., Any], found)


def traits(package: str, name: str, usual: T) -> T:
    """Returns the plug-in's `TRAITS`, or `usual` if it defines none of that type."""
    found = getattr(load(package, name), "TRAITS", usual)
    return found if isinstance(found, type(usual)) else usual


def check_options(factory: Callable[..., Any], name: str, options: Mapping[str, Any]) -> None:
    """Raises `ConfigError` for an option that `factory` does not take."""
    known = _option_names(factory)
    if known is None:
        return
    for option in options:
        if option not in known:
            raise ConfigError(f"{name} has no option {option!r}{near(option, list(known))}")


def takes(factory: Callable[..., Any], option: str) -> bool:
    """Returns whether the signature of `factory` has a parameter of that name."""
    return option in _signature(factory).parameters


def optional(module: str, extra: str) -> ModuleType:
    """Imports an optional dependency. Raises `ConfigError` naming the extra that installs it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not module.startswith(error.name):
            # The module is installed but lacks a dependency of its own, so our advice would be wrong.
            raise
        raise ConfigError(f"{module} is not installed; it comes with: pip install 'ai-battle[{extra}]'") from error


def near(name: str, known: list[str], most: int = 20) -> str:
    """Returns the end of an error message: likely corrections, or else the whole choice if it is of `most` names."""
    if likely := likely_names(name, known):
        return f"; did you mean {' or '.join(map(repr, likely))}?"
    return f"; there is {', '.join(sorted(known))}." if 0 < len(known) <= most else "."


@lru_cache(maxsize=256)
def _signature(factory: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(factory)


@lru_cache(maxsize=256)
def _option_names(factory: Callable[..., Any]) -> tuple[str, ...] | None:
    """Returns the names of the options that `factory` takes; None if it takes any."""
    parameters = _signature(factory).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return None
    return tuple(p.name for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD))


@cache
def module_names(package: str) -> frozenset[str]:
    """Returns the names of a package's public modules."""
    spec = importlib.util.find_spec(package)
    assert spec
    found = pkgutil.iter_modules(spec.submodule_search_locations)
    return frozenset(module.name for module in found if not module.name.startswith("_"))


@cache
def plug_ins(package: str) -> Mapping[str, EntryPoint]:
    """Returns the entry points that other packages register, by name."""
    return {point.name: point for point in entry_points(group=package)}


MAX_SUGGESTIONS = 3
MAX_NAME_LENGTH = 100
"""Longer names are not typing mistakes."""
FAR = MAX_NAME_LENGTH


def likely_names(name: str, known: Iterable[str]) -> list[str]:
    """Returns the known names closest to `name`, or nothing if none is close enough.

    One slip (a letter missing, added, changed, or two swapped) is close; from seven letters on two are, and so is a
    prefix of a known name.
    """
    sought = _folded_name(name[: MAX_NAME_LENGTH + 1])
    distances = {each: _distance(sought, _folded_name(each)) for each in known if len(each) <= MAX_NAME_LENGTH}
    nearest = min(distances.values(), default=FAR)
    return [each for each in sorted(distances) if distances[each] == nearest < FAR][:MAX_SUGGESTIONS]


def _distance(name: str, known: str) -> int:
    """Returns the number of slips between two names, where a prefix counts as two; `FAR` if there are too many."""
    shorter = min(len(name), len(known))
    allowed = 0 if shorter < 3 else 1 if shorter < 7 else 2
    if abs(len(name) - len(known)) <= allowed and (slips := _slips(name, known)) <= allowed:
        return slips
    return 2 if len(name) > 1 and known.startswith(name) else FAR


def _slips(left: str, right: str) -> int:
    """Returns the number of insertions, deletions, substitutions and swaps of neighbours (optimal string alignment)."""
    before, last = [0], list(range(len(right) + 1))
    for row, letter in enumerate(left, 1):
        now = [row]
        for column, other in enumerate(right, 1):
            now.append(min(last[column] + 1, now[-1] + 1, last[column - 1] + (letter != other)))
            if row > 1 and column > 1 and (letter, left[row - 2]) == (right[column - 2], other):
                now[-1] = min(now[-1], before[column - 2] + 1)
        before, last = last, now
    return last[-1]


def _folded_name(name: str) -> str:
    return name.casefold().replace("-", "_").replace(" ", "_")


# Ours, or meant for whoever runs the program. Panics of Rust extensions are BaseExceptions too, but neither of these.
UNTRANSLATED = (AIBattleError, KeyboardInterrupt, SystemExit, GeneratorExit, CancelledError)


def error_text(error: BaseException | None) -> str:
    """Returns the text of an exception, or "" if its `__str__` fails."""
    with suppress(Exception):
        return str(error)
    return ""


_INSTALLED = tuple(os.path.dirname(file) for file in (os.__file__, os.path.dirname(__file__)))
_PACKAGES = ("site-packages", "dist-packages")


def _own_line(trace: TracebackType | None) -> str:
    """Returns the last line of the user's own code that an exception came through, as the end of a message."""
    lines = ((frame.f_code.co_filename, number) for frame, number in walk_tb(trace))
    own = [
        f" ({os.path.basename(file)}, line {number})"
        for file, number in lines
        if os.path.isabs(file) and not file.startswith(_INSTALLED) and not any(name in file for name in _PACKAGES)
    ]
    return own[-1] if own else ""


class translate_errors:  # noqa: N801 - used like contextlib.suppress
    """Turns any foreign exception of a plug-in, a tool or a listener into `raises("what: ...")`, with its line."""

    __slots__ = ("_raises", "_what")

    def __init__(self, what: str, raises: type[AIBattleError]) -> None:
        self._what = what
        self._raises = raises

    def __enter__(self) -> None:
        """Keeps no state, so that one instance can guard any number of calls, also concurrent ones."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error and not isinstance(error, UNTRANSLATED):
            said = f"{type(error).__name__}: {error_text(error)}{_own_line(error.__traceback__)}"
            raise self._raises(f"{self._what}: {said}") from error
