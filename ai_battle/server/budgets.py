"""Dollars that each key has spent with this worker, kept on disk."""

import asyncio
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Literal

from pydantic_core import from_json, to_json

from ..core.errors import BudgetExceeded, ConfigError, JournalError
from ..core.ledger import Budget, Ledger, SpendingLimits
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
    """One budget for each key, by its holder's name; `folder` is where what they spent is kept, None for nowhere.

    `unpriced` says whether models may answer for a key with a budget whose price is unknown.
    """

    spent: dict[str, Ledger] = field(default_factory=dict)
    folder: Path | None = None
    unpriced: Literal["refuse", "allow"] = "refuse"
    _lock: RunLock | None = None
    _timer: asyncio.TimerHandle | None = None
    _open: dict[str, Budget] = field(default_factory=dict)

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
            return cls(_read(folder / NAME), folder, _lock=lock)
        except OSError as error:
            raise ConfigError(
                f"What keys spend can't be kept in {folder}: {error.strerror}; set state under server:."
            ) from error

    def of(self, holder: Holder) -> Budget:
        """What the calls for a request of this key are charged to; raises `BudgetExceeded` where nothing is left."""
        if not holder.name:
            return Budget()
        ledger = self.spent.setdefault(holder.name, Ledger())
        budget = self._open.setdefault(holder.name, Budget(ledger=ledger, payer=holder.name))
        budget.limits = SpendingLimits(holder.budget, unpriced=self.unpriced)
        if budget.reached and holder.budget is not None:
            spent = f"${ledger.known_cost:.4f} of ${holder.budget:.2f}"
            raise BudgetExceeded(f"The budget of {holder.name} is used up with this worker: {spent}.")
        return budget

    def keep(self) -> None:
        """Has what was spent written down soon."""
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
            new.write_bytes(to_json({name: ledger.known_cost for name, ledger in self.spent.items()}))
            os.replace(new, self.folder / NAME)


def _read(path: Path) -> dict[str, Ledger]:
    if not path.exists():
        return {}
    try:
        spent = from_json(path.read_bytes())
        return {str(name): Ledger(known_cost=float(dollars)) for name, dollars in spent.items()}
    except (ValueError, AttributeError, TypeError) as error:
        raise ConfigError(f"{path} does not say what keys have spent; mend or remove it.") from error
