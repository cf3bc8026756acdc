"""Dollars that each key has spent with this worker, kept on disk."""

import asyncio
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from pydantic_core import from_json, to_json

from ..core.errors import BudgetExceeded, ConfigError, JournalError
from ..core.locking import RunLock
from ..core.private import make_private
from .auth import Holder

NAME = "spent.json"
SOON = 1.0
"""Seconds after which what was spent is on disk: what a killed worker can forget."""


def state_directory(environment: Mapping[str, str]) -> Path:
    stated = environment.get("XDG_STATE_HOME")
    return (Path(stated) if stated else Path.home() / ".local" / "state") / "ai-battle" / "serve"


@dataclass(slots=True)
class Budgets:
    """`folder` is where it is kept; None: nowhere, as no key has a budget."""

    spent: dict[str, float] = field(default_factory=dict)
    folder: Path | None = None
    _lock: RunLock | None = None
    _timer: asyncio.TimerHandle | None = None

    @classmethod
    def opened(cls, state: Path) -> "Budgets":
        """Those of the first worker's place that no other worker has taken. Raises `ConfigError`."""
        for number in count():
            folder = state / f"worker-{number}"
            with suppress(JournalError):
                return cls._in(folder)
        raise AssertionError("there is always another number")

    @classmethod
    def _in(cls, folder: Path) -> "Budgets":
        try:
            make_private(folder)
            lock = RunLock(folder)
            return cls(_read(folder / NAME), folder, lock)
        except OSError as error:
            raise ConfigError(
                f"What keys spend can't be kept in {folder}: {error.strerror}; set state under server:."
            ) from error

    def check(self, holder: Holder) -> None:
        """Raises `BudgetExceeded`. A request that begins below the budget is finished, also when it goes beyond."""
        if holder.budget is not None and (spent := self.spent.get(holder.name, 0.0)) >= holder.budget:
            raise BudgetExceeded(
                f"The budget of {holder.name} is used up with this worker: ${spent:.4f} of ${holder.budget:.2f}."
            )

    def add(self, holder: Holder, dollars: float) -> None:
        if dollars and holder.name:
            self.spent[holder.name] = self.spent.get(holder.name, 0.0) + dollars
            if self.folder and not self._timer:
                self._timer = asyncio.get_running_loop().call_later(SOON, self._write)

    def close(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._write()
        if self._lock:
            self._lock.release()

    def _write(self) -> None:
        self._timer = None
        if self.folder:
            new = self.folder / f"{NAME}.new"
            new.write_bytes(to_json(self.spent))
            os.replace(new, self.folder / NAME)


def _read(path: Path) -> dict[str, float]:
    if not path.exists():
        return {}
    try:
        return {str(name): float(spent) for name, spent in from_json(path.read_bytes()).items()}
    except (ValueError, AttributeError, TypeError) as error:
        raise ConfigError(f"{path} does not say what keys have spent; mend or remove it.") from error
