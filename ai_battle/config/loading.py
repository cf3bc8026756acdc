"""Loads a discussion: from a file, a dictionary or the name of a packaged one to a checked `Loaded`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ._checks import check
from ._files import missing_files
from ._nodes import Node, from_python
from ._notes import notes_on
from ._overriding import appended, overridden
from ._rewriting import rewritten
from .documents import Document, Kind, Origin, Reading, Source
from .problems import Problem
from .schema import DiscussionFile


def _check(file: DiscussionFile) -> Iterable[Problem]:
    return check(file.discussion)


def _notes(file: DiscussionFile) -> Iterable[str]:
    return notes_on(file.discussion)


def _allowed(file: DiscussionFile) -> Iterable[str]:
    return file.discussion.allow_secrets


DISCUSSION = Kind("discussion", DiscussionFile, rewritten, _check, _notes, _allowed)


@dataclass(frozen=True, slots=True)
class Loaded(Document[DiscussionFile]):
    """A checked discussion."""

    def missing_files(self) -> list[Problem]:
        """The input files that are not there."""
        return list(missing_files(self.file.discussion, self.base))

    def changed(self, *overrides: str) -> "Loaded":
        """The same with further `path=value`, though the file may have changed since; raises `ConfigError`."""
        return self._again(self.tree, overrides)

    def with_pair(self, pair: Mapping[str, Any], also: "Check") -> "Loaded":
        """The same with one more pair of models; raises `ConfigError` with all that is wrong with it."""
        enabled = overridden(self.tree, ("discussion.collaboration.enabled=true",), DiscussionFile.model_fields)
        tree = appended(enabled, ("discussion", "collaboration", "pairs"), from_python(pair))
        return self._again(tree, (), also)

    def _again(self, tree: Node, overrides: Sequence[str], also: "Check" = lambda loaded: ()) -> "Loaded":
        origin = Origin(tree, [], self.base, self.name, self.shown)
        again = Reading(DISCUSSION, Loaded, also).checked(origin, self.environment, overrides)
        return replace(again, notes=tuple(dict.fromkeys((*self.notes, *again.notes))))


Check = Callable[[Loaded], Iterable[Problem]]


def load(
    source: Source,
    environment: Mapping[str, str] | None = None,
    overrides: Sequence[str] = (),
    base: Path | None = None,
    also: Check = lambda loaded: (),
) -> Loaded:
    """A checked discussion; raises `ConfigError` with all that is wrong.

    `source` is a path, the name of a packaged configuration, or a dictionary. `overrides` are `path=value`. `base` is
    where relative paths start and `.env` is read; by default the folder of the file. `also` finds what else is wrong.
    """
    return Reading(DISCUSSION, Loaded, also).read(source, environment, overrides, base)
