"""Reads a configuration of any kind from a file, a dictionary or a packaged name into a checked `ConfigDocument`."""

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import ValidationError

from ..core.errors import ConfigError
from ..core.plugins import likely_names
from ..core.redaction import NO_SECRETS, Redactor
from .environment import Expansion, TreeExpander, can_be_hidden, portable_yaml, secrets_in_environment, with_dotenv
from .messages import problems_of
from .packaged import packaged_config, packaged_names
from .problems import ConfigProblems, KeyPath, Located, Problem, dotted_path
from .rewriting import apply_overrides
from .tree import Node, Place, compose, from_python, place_of, written_path
from .values import Section

SECTION = re.compile(r"^(benchmark|discussion|rubric|server):", re.MULTILINE)
COMMANDS = {
    "discussion": "ai-battle run",
    "benchmark": "ai-battle bench run",
    "server": "ai-battle serve",
    "rubric": "ai-battle judge RUN --model MODEL --rubric",
}
MAX_BYTES = 5_000_000
YAML = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class YamlText:
    """The text of a file, possibly not written yet, and the path that it will have."""

    text: str
    path: Path


Source = str | os.PathLike[str] | Mapping[str, Any] | YamlText
_Fault = tuple[Place, str, str]
"""A place, its path in the configuration, and what is wrong."""


def find_nothing(document: Any) -> Iterable[Any]:
    return ()


D = TypeVar("D", bound="ConfigDocument")


@dataclass(frozen=True, slots=True)
class FileKind(Generic[D]):
    """What differs between the kinds of files.

    `make` is the class of its documents. `rewrite` updates old spellings and may add what the environment
    says; it returns notes. `check` finds problems across keys, `notes` keys without effect, and `allowed` the names of
    secrets that may be sent to models.
    """

    name: str
    make: Callable[..., D]
    schema: type[Section]
    rewrite: Callable[[Node, Mapping[str, str]], tuple[Node, Sequence[str]]]
    check: Callable[[Any], Iterable[Problem]] = find_nothing
    notes: Callable[[Any], Iterable[str]] = find_nothing
    allowed: Callable[[Any], Iterable[str]] = find_nothing


@dataclass(frozen=True, slots=True)
class Origin:
    """The source of a configuration before it is checked."""

    tree: Node
    faults: list[tuple[Place, str]]
    base: Path
    name: str
    shown: str = ""


@dataclass(frozen=True, slots=True)
class ConfigDocument:
    """A checked configuration. Its `repr` shows nothing from the environment."""

    file: Any = field(repr=False)
    """The validated model; its type depends on the kind of document."""
    base: Path
    name: str
    shown: str
    notes: tuple[str, ...]
    environment: Mapping[str, str] = field(repr=False)
    """The environment including `.env`."""
    expansion: Expansion = field(repr=False)
    tree: Node = field(repr=False)
    redactor: Redactor = NO_SECRETS
    """Knows the secrets of the file and the environment, which must never be shown or stored."""

    def with_place(self, problem: Problem) -> str:
        """Returns the problem as text with its place: `robot.yaml:7:9 discussion.models.model1.typ: unknown key`."""
        return str(self.location_of(problem))

    def location_of(self, problem: Problem) -> Located:
        return _locate(_fault(self.tree, problem), self.shown, self.expansion)

    def as_yaml(self) -> str:
        """Returns the document as YAML, with overrides and defaults filled in and environment values as `${NAME}`."""
        return portable_yaml(self.tree, self.expansion, self.base)


def read_document(
    kind: FileKind[D],
    source: Source,
    environment: Mapping[str, str] | None = None,
    overrides: Sequence[str] = (),
    base: Path | None = None,
    also: Callable[[D], Iterable[Problem]] = find_nothing,
) -> D:
    """Reads a file of a kind; `also` finds problems beyond the file itself.

    Raises `ConfigError` with all problems.
    """
    origin = _origin_of(source, base, kind.name)
    variables: Mapping[str, str] = dict(os.environ if environment is None else environment)
    if not isinstance(source, Mapping):
        variables = with_dotenv(variables, origin.base)
    return check_document(kind, origin, variables, overrides, also)


def check_document(
    kind: FileKind[D],
    origin: Origin,
    variables: Mapping[str, str],
    overrides: Sequence[str] = (),
    also: Callable[[D], Iterable[Problem]] = find_nothing,
) -> D:
    """Checks an origin with overrides. Raises `ConfigError` with all problems."""
    tree, notes = kind.rewrite(apply_overrides(origin.tree, overrides, kind.schema), variables)
    expander = TreeExpander(Expansion(variables))
    try:
        values = expander.expand(tree)
    except ConfigError as error:
        raise ConfigError(f"{origin.shown}: {error}") from None
    file, problems = _validate(kind.schema, values, tree)
    if file is None:
        raise _ordered_problems(problems, expander, tree, origin)
    expansion = expander.expansion
    all_notes = tuple(map(expansion.hide, (*notes, *expander.notes, *kind.notes(file))))
    redactor = _redactor(frozenset(kind.allowed(file)), expansion)
    found = kind.make(
        file, origin.base, origin.name, origin.shown, all_notes, variables, expansion, tree, redactor=redactor
    )
    # Checks across keys need a valid file, and their findings next to a wrong key may be that key's fault.
    further = [*kind.check(file), *_secrets_in_prompts(expander, redactor.for_models), *also(found)]
    problems = [*problems, *_without_neighbours(problems, further)]
    if problems or expander.problems or origin.faults:
        raise _ordered_problems(problems, expander, tree, origin)
    return found


def _redactor(allowed: frozenset[str], expansion: Expansion) -> Redactor:
    """Returns the redactor. Variables that the user allows to be sent count as secrets, whatever they look like."""
    variables = expansion.variables
    named = {variables[name]: name for name in allowed if can_be_hidden(variables.get(name, ""))}
    return Redactor({**secrets_in_environment(variables), **named, **expansion.secrets}, allowed)


def environment_redactor(variables: Mapping[str, str], folder: Path | None = None) -> Redactor:
    """Returns a redactor for the variables, and those in a folder's `.env`, whose names mark secrets."""
    with suppress(ConfigError):
        variables = with_dotenv(variables, folder) if folder else variables
    return Redactor(secrets_in_environment(variables))


def _origin_of(source: Source, base: Path | None, kind: str) -> Origin:
    if isinstance(source, Mapping):
        tree = from_python(source)
        return Origin(tree, [], base or _base_folder(tree, Path.cwd()), kind)
    if isinstance(source, YamlText):
        return _origin_of_text(source.text, source.path, base, kind)
    if not isinstance(source, str | os.PathLike):
        raise ConfigError(f"{source!r} is no {kind}; pass the path of a file, a packaged name, or a dictionary")
    if "\n" in os.fspath(source):
        raise ConfigError(
            "this is YAML itself, not the path of a file; pass yaml.safe_load(text), or write it to a file"
        )
    path = Path(source)
    if not os.path.exists(path) and (found := packaged_config(str(source), kind)):
        path = found
    return _origin_of_text(read_text(path, str(path), packaged_names(kind)), path, base, kind)


def _origin_of_text(text: str, path: Path, base: Path | None, kind: str) -> Origin:
    shown = str(path)
    tree, faults = compose(text, shown, kind)
    _require_kind(tree, kind, shown)
    return Origin(tree, faults, base or _base_folder(tree, path.resolve().parent), path.stem, shown)


def _require_kind(tree: Node, kind: str, shown: str) -> None:
    """Reports a file of another kind as such, instead of as a list of unknown keys."""
    other = next(filter(tree.child, COMMANDS), kind)
    if other != kind and not tree.child(kind):
        fault = Problem((other,), f"this is a {other} file; run it with: {COMMANDS[other]} {shown}", key=True)
        raise ConfigProblems([_locate(_fault(tree, fault), shown, Expansion({}))])


def _base_folder(tree: Node, folder: Path) -> Path:
    named = tree.child("base_directory")
    return folder / os.path.expanduser(named.value) if named and isinstance(named.value, str) else folder


def _validate(schema: type[Section], values: Any, tree: Node) -> tuple[Section | None, list[Problem]]:
    """Validates the values, after errors again without the wrong keys, so that all problems are reported."""
    try:
        return schema.model_validate(values), []
    except ValidationError as error:
        problems = list(problems_of(error, schema, tree))
    for problem in problems:
        _drop(problem.path, values)
    try:
        return schema.model_validate(values), problems
    except ValidationError:
        return None, problems


S = TypeVar("S", bound=Section)


def checked_section(schema: type[S], values: Mapping[str, Any], *place: str | int) -> S:
    """Validates a section from a program. Raises `ConfigError` with all problems, in the words of the file.

    The problems are told as those of `place`.
    """
    tree = from_python(values)
    try:
        return schema.model_validate(values)
    except ValidationError as error:
        found = problems_of(error, schema, tree)
    raise ConfigError("; ".join(f"{dotted_path((*place, *problem.path))} {problem.message}" for problem in found))


def _drop(path: KeyPath, values: Any) -> None:
    """Removes a wrong key, or the section that lacks a required one. Steps that exist only in the schema are skipped.

    Participants stay, as other parts name them.
    """
    above: Any = None
    for step in path[:-1]:
        with suppress(KeyError, IndexError, TypeError):
            above, values = (values, step), values[step]
    if isinstance(values, dict) and path[-1] in values:
        del values[path[-1]]
    elif above and isinstance(above[0], dict) and path[0] != "discussion":
        above[0].pop(above[1], None)


def _secrets_in_prompts(expander: TreeExpander, redactor: Redactor) -> Iterable[Problem]:
    for path, text in expander.prompts:
        for name in redactor.names_in(text):
            yield Problem(
                path,
                f"the secret {name} would be sent to the models; take it out, or allow it: "
                f"'allow_secrets: [{name}]' under discussion",
            )


def _without_neighbours(known: list[Problem], found: list[Problem]) -> list[Problem]:
    """Drops problems next to a wrong key, which may be their cause."""
    sections = {problem.path[:-1] for problem in known}
    return [problem for problem in found if not sections & {problem.path, problem.path[:-1]}]


def _ordered_problems(problems: list[Problem], expander: TreeExpander, tree: Node, origin: Origin) -> ConfigProblems:
    """Returns all problems in the order of the file."""
    unset = {problem.path for problem in expander.problems}
    known = [problem for problem in problems if not any(problem.path[: len(path)] == path for path in unset)]
    all_problems = [*expander.problems, *known]
    faults = [
        *((place, "", message) for place, message in origin.faults),
        *(_fault(tree, problem) for problem in all_problems),
    ]
    faults.sort(key=lambda fault: fault[0] if isinstance(fault[0], tuple) else (0, 0))
    return ConfigProblems(_locate(fault, origin.shown, expander.expansion) for fault in faults)


def _fault(tree: Node, problem: Problem) -> _Fault:
    path = dotted_path(written_path(tree, problem.path))
    return place_of(tree, problem.path, problem.key), path, problem.message


def _locate(fault: _Fault, shown: str, expansion: Expansion) -> Located:
    place, path, message = fault
    file, line, column = (shown, *place) if isinstance(place, tuple) else (place, None, None)
    return Located(file, line, column, expansion.hide(path), expansion.hide(message))


def kind_of(text: str) -> str:
    """Returns the kind of a YAML by its first known section, or "discussion"."""
    found = SECTION.search(text)
    return found[1] if found else "discussion"


def read_text(path: Path, shown: str, others: Sequence[str] = ()) -> str:
    """Reads a file up to a maximum size. `others` are names to suggest if it does not exist."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise ConfigError(f"{shown}: there is no such file{near_file(path, YAML, others)}") from None
    except IsADirectoryError:
        files = [name for name in _names(path) if name.endswith(YAML)]
        listed = f": {', '.join(files[:5])}" if files else ""
        raise ConfigError(f"{shown}: is a directory; name a YAML file in it{listed}") from None
    except (OSError, ValueError) as error:
        raise ConfigError(f"{shown}: can't be read: {getattr(error, 'strerror', None) or error}") from None
    if len(data) > MAX_BYTES:
        raise ConfigError(f"{shown}: is larger than 5 MB; long texts belong in files named by input_file")
    return _decode(data, shown)


def _decode(data: bytes, shown: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        looks = "; it looks like UTF-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else ""
        message = f"is not UTF-8 text (byte 0x{data[error.start]:02x}){looks}; save it as UTF-8"
        raise ConfigProblems([Located(shown, line, None, None, message)]) from None


def near_file(path: Path, endings: tuple[str, ...] = ("",), others: Sequence[str] = ()) -> str:
    """Returns the end of an error message: files next to `path`, or `others`, that may have been meant."""
    if not os.path.isdir(path.parent):
        return f", and no directory {str(path.parent)!r} either"
    names = [name for name in _names(path.parent) if name.endswith(endings)]
    likely = likely_names(path.name, [*names, *others])
    return f"; did you mean {' or '.join(map(repr, likely))}?" if likely else ""


def _names(folder: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in folder.iterdir())
    except OSError:
        return []
