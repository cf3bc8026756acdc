"""Everything that the page may reach: YAML files and runs of the folder in which it was started, and packaged files."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ..assembly.discussion import named_code
from ..assembly.trust import is_trusted, remember_trust, trust_digest
from ..benchmark.loading import load as load_benchmark
from ..benchmark.store import NAME as RESULTS
from ..config.documents import MAX_BYTES, YAML, YamlText, kind_of, read_text
from ..config.judge import Rubric, load_rubric, read_rubric
from ..config.loading import LoadedDiscussion
from ..config.packaged import description, in_brief, packaged_config, packaged_names, require_packaged
from ..config.problems import ConfigProblems
from ..config.server import load_server
from ..conversation.reading import FILE as JOURNAL
from ..conversation.runs import RUNS_FOLDER, SearchHit, run_directories, search
from ..conversation.setup import config_digest, load_checked, notes
from ..core.errors import AIBattleError, ConfigError, NoSuchRecord
from ..core.files import write_private
from ..core.texts import printable
from ..reporting.benchmark_report import REPORT

PACKAGED = "packaged:"
LEVELS, MOST_FILES = 3, 500
"""How deep folders are searched, and how many files are listed."""
RECORDS = (JOURNAL, RESULTS)
"""Files next to the configuration of a run or a benchmark that was started: it is not one to start from."""
SKIPPED = frozenset({"node_modules", "venv", str(RUNS_FOLDER)})


class NotTrusted(AIBattleError):
    """The file runs code that its user has not trusted yet: `code` names the modules, `digest` identifies it."""

    def __init__(self, code: Sequence[str], digest: str) -> None:
        super().__init__(f"This file runs code of its own: {', '.join(code)}.")
        self.code = code
        self.digest = digest


class FileChanged(AIBattleError):
    """The file has changed since it was read."""


@dataclass(frozen=True, slots=True)
class ConfigText:
    """The content of a YAML file; `digest` is empty for a new one."""

    source: str
    text: str
    digest: str


@dataclass(frozen=True, slots=True)
class Workspace:
    """The folder `root`, with links resolved; nothing outside of it is read or written."""

    root: Path

    def configs(self) -> Iterator[dict[str, str]]:
        """Yields the files to choose from, of the folder and then packaged ones, with their descriptions."""
        for path in self._files(self.root, YAML):
            if not any(path.with_name(record).exists() for record in RECORDS):
                yield _entry(str(path.relative_to(self.root)), path)
        for name in packaged_names():
            yield _entry(PACKAGED + name, self._path(PACKAGED + name))

    def read(self, source: str) -> ConfigText:
        """Returns the text with plain line ends, as a text field of a page has no others."""
        path = self._path(source)
        text = read_text(path, path.name)
        return ConfigText(source, text.replace("\r\n", "\n"), config_digest(text))

    def write(self, source: str, text: str, digest: str) -> ConfigText:
        """Saves a file of the folder. Raises `FileChanged` if its content no longer has that digest."""
        path = self._path(source)
        if source.startswith(PACKAGED):
            raise ConfigError("A packaged file is not changed; save it under a name of your own.")
        is_there = path.exists()
        old = read_text(path, path.name) if is_there else ""
        if (config_digest(old) if is_there else "") != digest:
            known = "has changed since you opened it" if digest else "exists already"
            raise FileChanged(f"{source} {known}; save again to replace it, or open it again.")
        written = text.replace("\n", "\r\n") if "\r\n" in old else text
        rights = path.stat().st_mode if is_there else 0o644
        write_private(path.resolve(), [written])
        path.chmod(rights)  # restore them, as `write_private` makes the file readable for its owner only
        return ConfigText(source, text, config_digest(written))

    def check(self, source: str, text: str) -> dict[str, Any]:
        """Returns the findings of `ai-battle validate`. Calls no model and imports no code."""
        kind = kind_of(text)
        try:
            return {"kind": kind, "problems": [], "notes": list(_notes(kind, self._document(source, text)))}
        except ConfigProblems as error:
            return {"kind": kind, "problems": [asdict(each) for each in error.located], "notes": []}
        except ConfigError as error:
            problem = {"line": None, "column": None, "path": "", "message": str(error)}
            return {"kind": kind, "problems": [problem], "notes": []}

    def load(self, source: str, text: str, trusted: str) -> LoadedDiscussion:
        """Returns the discussion of a text that may be unsaved. Raises `ConfigError` and `NotTrusted`."""
        if (kind := kind_of(text)) != "discussion":
            raise ConfigError(f"This is the file of a {kind}; the page starts discussions.")
        loaded = load_checked(self._document(source, text))
        require_trust(loaded, trusted)
        return replace(loaded, name=Path(source.removeprefix(PACKAGED)).stem)

    def rubric(self, named: str) -> Rubric:
        """Returns a rubric of the folder or a packaged one; by default the usual one."""
        return load_rubric(named if not named or packaged_config(named, "rubric") else self._path(named))

    def run(self, name: str) -> Path:
        """Returns the run directory with that name. Raises `NoSuchRecord` if the folder has none."""
        found = next((run for run in run_directories(self.root / RUNS_FOLDER) if run.name == name), None)
        if found is None or not self._is_inside(found):
            raise NoSuchRecord(f"There is no run {name!r} in {RUNS_FOLDER}.")
        return found

    def runs(self) -> Sequence[Path]:
        return [*filter(self._is_inside, run_directories(self.root / RUNS_FOLDER))]

    def search(self, words: Sequence[str]) -> Iterator[SearchHit]:
        return (hit for hit in search(words, self.root / RUNS_FOLDER) if self._is_inside(hit.run_dir))

    def benchmarks(self) -> dict[str, Path]:
        """Returns the reports of benchmarks, by their folders."""
        reports = (path.with_name(REPORT) for path in self._files(self.root, (RESULTS,)))
        return {str(path.parent.relative_to(self.root)): path for path in reports if path.is_file()}

    def _document(self, source: str, text: str) -> YamlText:
        if len(text.encode()) > MAX_BYTES:
            raise ConfigError("This is larger than 5 MB; long texts belong in files named by input_file.")
        return YamlText(text, self._path(source))

    def _path(self, source: str) -> Path:
        """Raises `ConfigError` for a name that leads out of the folder, or that is not a YAML file's."""
        if source.startswith(PACKAGED):
            return require_packaged(source.removeprefix(PACKAGED))
        path = self.root / source
        if not source.isprintable() or not source.endswith(YAML) or not self._is_inside(path):
            raise ConfigError(f"{source!r} is not a YAML file of this folder: name one such as robots.yaml.")
        if not path.parent.is_dir():
            raise ConfigError(f"There is no folder {str(path.parent.relative_to(self.root))!r} here.")
        return path

    def _is_inside(self, path: Path) -> bool:
        """Checks whether a path stays in the folder, also through links, and is not hidden."""
        try:
            inside = path.resolve().relative_to(self.root).parts
        except (ValueError, OSError):
            return False
        return not any(part.startswith(".") for part in inside)

    def _files(self, folder: Path, endings: tuple[str, ...]) -> Sequence[Path]:
        found: list[Path] = []
        for place, folders, names in os.walk(folder):
            depth = len(Path(place).relative_to(folder).parts)
            hidden = {name for name in folders if name.startswith(".") or name in SKIPPED}
            folders[:] = sorted({*folders} - hidden) if depth < LEVELS else []
            shown = (name for name in sorted(names) if name.endswith(endings) and not name.startswith("."))
            found += filter(self._is_inside, map(Path(place).joinpath, shown))
            if len(found) >= MOST_FILES:
                break
        return found[:MOST_FILES]


def require_trust(loaded: LoadedDiscussion, trusted: str) -> None:
    """Raises `NotTrusted` for code that a file names, until its user has sent back its digest."""
    code = named_code(loaded)
    digest = trust_digest(loaded, code)
    if not code or is_trusted(digest):
        return
    if trusted != digest:
        raise NotTrusted(code, digest)
    remember_trust(digest)


def _entry(source: str, path: Path) -> dict[str, str]:
    try:
        text = read_text(path, path.name)
    except ConfigError as error:
        return {"source": source, "kind": "unreadable", "about": printable(str(error)), "needs": ""}
    about, needs = in_brief(description(text))
    return {"source": source, "kind": kind_of(text), "about": printable(about), "needs": printable(needs)}


def _notes(kind: str, document: YamlText) -> Sequence[str]:
    match kind:
        case "benchmark":
            return load_benchmark(document).document.notes
        case "server":
            return load_server(document, os.environ).notes
        case "rubric":
            read_rubric(document)
            return ()
    return notes(load_checked(document))
