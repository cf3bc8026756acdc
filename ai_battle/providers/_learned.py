"""What models refused, remembered on this machine for a day, so that each refusal costs one call and not one per run.

The file has one JSON object per line, each written at once and at the end: several processes can share it without a
lock, and a damaged line costs nothing but itself.
"""

import json
import logging
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ..core.places import cache_directory
from ..core.private import make_private

SECONDS = 24 * 3600
_LARGE = 256 * 1024
_log = logging.getLogger(__name__)


class Learned:
    """`load()` gives the one memory of this machine's user; it costs a look at the file's date."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._refused: dict[tuple[str, str], dict[str, float]] = {}
        self._seen: tuple[int, int] = (0, 0)
        self._warned = False

    @classmethod
    def load(cls, path: Path | None = None) -> "Learned":
        path = path or cache_directory() / "refused.jsonl"
        memory = _memories.setdefault(path, cls(path))
        memory._refresh()
        return memory

    def refuses(self, endpoint: str, model: str) -> frozenset[str]:
        """The parameters and features that this model refused within a day."""
        earliest = time.time() - SECONDS
        refused = self._refused.get((endpoint, model), {})
        return frozenset(name for name, at in refused.items() if at > earliest)

    def remember(self, endpoint: str, model: str, refused: str) -> None:
        """Where the directory can't be written, it is remembered as long as the process lives."""
        if refused in self.refuses(endpoint, model):
            return
        at = time.time()
        self._refused.setdefault((endpoint, model), {})[refused] = at
        with suppress(OSError):
            make_private(self.path.parent)
            _append(self.path, _line(endpoint, model, refused, at))

    def _refresh(self) -> None:
        try:
            stat = self.path.stat()
            if (seen := (stat.st_mtime_ns, stat.st_size)) != self._seen:
                self._read()
                self._seen = seen
        except OSError:
            return
        if stat.st_size > _LARGE:
            self._compact()

    def _read(self) -> None:
        text = self.path.read_text(encoding="utf-8", errors="replace")
        for line in filter(None, text.split("\n")):
            try:
                entry = json.loads(line)
                key = (entry["endpoint"], entry["model"])
                self._refused.setdefault(key, {})[entry["refuses"]] = float(entry["at"])
            except (ValueError, KeyError, TypeError):
                self._warn()

    def _warn(self) -> None:
        if not self._warned:
            self._warned = True
            _log.warning("%s is damaged; what can't be read of it is ignored. It can be deleted.", self.path)

    def _compact(self) -> None:
        """Leaves out what is older than a day; what another process adds meanwhile is learned again."""
        with suppress(OSError):
            with tempfile.NamedTemporaryFile("w", dir=self.path.parent, delete=False, encoding="utf-8") as file:
                file.writelines(self._fresh_lines())
            os.replace(file.name, self.path)

    def _fresh_lines(self) -> Iterator[str]:
        earliest = time.time() - SECONDS
        for (endpoint, model), refused in self._refused.items():
            yield from (_line(endpoint, model, name, at) for name, at in refused.items() if at > earliest)


_memories: dict[Path, Learned] = {}


def _line(endpoint: str, model: str, refused: str, at: float) -> str:
    return json.dumps({"endpoint": endpoint, "model": model, "refuses": refused, "at": at}) + "\n"


def _append(path: Path, line: str) -> None:
    """One write, begun on a new line in case another process was killed in the middle of its own."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(descriptor, f"\n{line}".encode())
    finally:
        os.close(descriptor)
