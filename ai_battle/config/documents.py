"""Reads a configuration of any kind: from a file, a dictionary or a packaged name to a checked `Document`."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import ValidationError

from ..core.errors import ConfigError
from ..core.redaction import NO_SECRETS, Redactor
from ._compose import compose
from ._environment import Expansion, with_dotenv
from ._expanding import Expanding
from ._nodes import Node, Place, from_python, place_of
from ._overriding import overridden
from ._reading import read_text
from ._secrets import can_be_hidden, in_environment
from ._values import Section
from ._words import problems_of
from ._writing import written_back
from .packaged import packaged, packaged_names
from .problems import ConfigProblems, Located, Problem, dotted
from .problems import Path as KeyPath

COMMANDS = {"discussion": "ai-battle run", "benchmark": "ai-battle bench run", "server": "ai-battle serve"}

F = TypeVar("F", bound=Section)

Source = str | os.PathLike[str] | Mapping[str, Any]
Fault = tuple[Place, str, str]
"""A place, the path there, and what is wrong."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What a configuration was read from, before it is checked."""

    tree: Node
    faults: list[tuple[Place, str]]
    base: Path
    name: str
    shown: str = ""


def _as_it_is(tree: Node) -> tuple[Node, tuple[str, ...]]:
    return tree, ()


def nothing(document: Any) -> Iterable[Any]:
    """What a check says that finds nothing."""
    return ()


@dataclass(frozen=True, slots=True)
class Kind(Generic[F]):
    """What differs between kinds of files.

    `rewritten` brings older spellings up to date and notes them; `check` finds what no single key can tell.
    """

    name: str
    schema: type[F]
    rewritten: Callable[[Node], tuple[Node, Sequence[str]]] = _as_it_is
    check: Callable[[F], Iterable[Problem]] = nothing
    notes: Callable[[F], Iterable[str]] = nothing
    allowed: Callable[[F], Iterable[str]] = nothing
    """The names of secrets that may be sent to models."""


@dataclass(frozen=True, slots=True)
class Document(Generic[F]):
    """A checked configuration; its `repr` shows nothing that came from the environment."""

    file: F = field(repr=False)
    base: Path
    name: str
    shown: str
    notes: tuple[str, ...]
    environment: Mapping[str, str] = field(repr=False)
    """The environment with what `.env` adds to it."""
    expansion: Expansion = field(repr=False)
    tree: Node = field(repr=False)
    redactor: Redactor = NO_SECRETS
    """Knows the secrets of the file and of the environment, which must never be shown or stored."""

    def located(self, problem: Problem) -> str:
        """The problem with its place: `robot.yaml:7:9 discussion.models.model1.typ: unknown key`."""
        return str(self.location_of(problem))

    def location_of(self, problem: Problem) -> Located:
        return _located(_fault(self.tree, problem), self.shown, self.expansion)

    def resolved(self) -> str:
        """The configuration as YAML: overrides and defaults filled in, environment values as `${NAME}` again."""
        return written_back(self.tree, self.expansion, self.base)


D = TypeVar("D", bound=Document[Any])


@dataclass(frozen=True, slots=True)
class Reading(Generic[F, D]):
    """How a kind of file is read into a `document`; `also` finds what is wrong beyond the file itself."""

    kind: Kind[F]
    document: Callable[..., D]
    also: Callable[[D], Iterable[Problem]] = nothing

    def read(
        self,
        source: Source,
        environment: Mapping[str, str] | None = None,
        overrides: Sequence[str] = (),
        base: Path | None = None,
    ) -> D:
        """Raises `ConfigError` with all that is wrong."""
        origin = origin_of(source, base, self.kind.name)
        variables = os.environ if environment is None else environment
        if not isinstance(source, Mapping):
            variables = with_dotenv(variables, origin.base)
        return self.checked(origin, variables, overrides)

    def checked(self, origin: Origin, variables: Mapping[str, str], overrides: Sequence[str] = ()) -> D:
        tree, notes = self.kind.rewritten(overridden(origin.tree, overrides, self.kind.schema.model_fields))
        expansion = Expansion(variables)
        expanding = Expanding(expansion)
        file, problems = _validated(self.kind.schema, _expanded(tree, expanding, origin), tree)
        if file is None:
            raise _wrong(problems, expanding, tree, origin)
        all_notes = tuple(map(expansion.hide, (*notes, *expanding.notes, *self.kind.notes(file))))
        known = self._redactor(file, expansion)
        found = self.document(
            file, origin.base, origin.name, origin.shown, all_notes, variables, expansion, tree, redactor=known
        )
        further = [*self.kind.check(file), *_told_to_models(expanding, known.sent), *self.also(found)]
        problems = [*problems, *_elsewhere(problems, further)]
        if problems or expanding.problems or origin.faults:
            raise _wrong(problems, expanding, tree, origin)
        return found

    def _redactor(self, file: F, expansion: Expansion) -> Redactor:
        """What its user calls a secret that may be sent is one, whatever it looks like."""
        allowed, variables = frozenset(self.kind.allowed(file)), expansion.variables
        called = {variables[name]: name for name in allowed if can_be_hidden(variables.get(name, ""))}
        return Redactor({**in_environment(variables), **called, **expansion.secrets}, allowed)


def environment_redactor(variables: Mapping[str, str], folder: Path | None = None) -> Redactor:
    """Knows what variables, and those of the `.env` of a folder, hold whose names say that it is a secret."""
    with suppress(ConfigError):
        variables = with_dotenv(variables, folder) if folder else variables
    return Redactor(in_environment(variables))


def origin_of(source: Source, base: Path | None, name: str) -> Origin:
    if isinstance(source, Mapping):
        tree = from_python(source)
        return Origin(tree, [], base or _base(tree, Path.cwd()), name)
    if "\n" in os.fspath(source):
        raise ConfigError(
            "this is YAML itself, not the path of a file; pass yaml.safe_load(text), or write it to a file"
        )
    path = Path(source)
    if not os.path.exists(path) and (found := packaged(str(source))):
        path = found
    shown = str(path)
    tree, faults = compose(read_text(path, shown, packaged_names()), shown, name)
    _require_kind(tree, name, shown)
    return Origin(tree, faults, base or _base(tree, path.resolve().parent), path.stem, shown)


def _require_kind(tree: Node, kind: str, shown: str) -> None:
    """A file of another kind is no list of unknown keys."""
    other = next((each for each in COMMANDS if tree.child(each)), kind)
    if other != kind and not tree.child(kind):
        fault = Problem((other,), f"this is the file of a {other}; it is run with: {COMMANDS[other]} {shown}", key=True)
        raise ConfigProblems([_located(_fault(tree, fault), shown, Expansion({}))])


def _base(tree: Node, folder: Path) -> Path:
    named = tree.child("base_directory")
    return folder / os.path.expanduser(named.value) if named and isinstance(named.value, str) else folder


def _expanded(tree: Node, expanding: Expanding, origin: Origin) -> Any:
    try:
        return expanding.value(tree)
    except ConfigError as error:
        raise ConfigError(f"{origin.shown}: {error}") from None


def _wrong(problems: list[Problem], expanding: Expanding, tree: Node, origin: Origin) -> ConfigProblems:
    unset = {problem.path for problem in expanding.problems}
    all_problems = [*expanding.problems, *(problem for problem in problems if problem.path not in unset)]
    unread = ((place, "", message) for place, message in origin.faults)
    faults = sorted((*unread, *(_fault(tree, problem) for problem in all_problems)), key=_order)
    return ConfigProblems(_located(fault, origin.shown, expanding.expansion) for fault in faults)


def _told_to_models(expanding: Expanding, redactor: Redactor) -> Iterable[Problem]:
    """Secrets that stand in prompts and may not be there."""
    for path, text in expanding.prompts:
        for name in redactor.names_in(text):
            yield Problem(
                path,
                f"the secret {name} would be sent to the models; take it out, or allow it: "
                f"'allow_secrets: [{name}]' under discussion",
            )


def _validated(schema: type[F], values: Any, tree: Node) -> tuple[F | None, list[Problem]]:
    """The file can often be read on without the keys that are wrong, so that all that is wrong is found at once."""
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


def _elsewhere(known: list[Problem], found: list[Problem]) -> list[Problem]:
    """What was found beside no wrong key: there it may be that key's fault."""
    sections = {problem.path[:-1] for problem in known}
    return [problem for problem in found if not sections & {problem.path, problem.path[:-1]}]


def _drop(path: KeyPath, values: Any) -> None:
    """Takes a key away, or of what lacks it the whole; steps that only the schema has are passed over.

    Not so participants: others name them.
    """
    above: Any = None
    for step in path[:-1]:
        with suppress(KeyError, IndexError, TypeError):
            above, values = (values, step), values[step]
    if isinstance(values, dict) and path[-1] in values:
        del values[path[-1]]
    elif above and isinstance(above[0], dict) and path[0] != "discussion":
        above[0].pop(above[1], None)


def _fault(tree: Node, problem: Problem) -> Fault:
    return place_of(tree, problem.path, problem.key), dotted(problem.path), problem.message


def _located(fault: Fault, shown: str, expansion: Expansion) -> Located:
    place, path, message = fault
    file, line, column = (shown, *place) if isinstance(place, tuple) else (place, None, None)
    return Located(file, line, column, expansion.hide(path), expansion.hide(message))


def _order(fault: Fault) -> tuple[int, int]:
    return fault[0] if isinstance(fault[0], tuple) else (0, 0)
