"""Who may ask, with which key, and the dollars that each key has spent with this worker, kept on disk."""

import asyncio
import hashlib
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from hmac import compare_digest
from ipaddress import ip_address
from itertools import count
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic_core import from_json, to_json

from ..config.server import ServeKey
from ..core.errors import BudgetExceeded, ConfigError, JournalError
from ..core.files import RunLock, make_private
from ..core.ledger import Budget, Ledger, SpendingLimits
from .errors import Denied

BEARER = "bearer "
NO_KEY = "No key was presented: send it as x-api-key, or as Authorization: Bearer."
WRONG_KEY = "The key is not known here."
SPENT = "spent.json"
SOON = 1.0
"""Seconds after which what was spent is on disk: what a killed worker can forget."""


@dataclass(frozen=True, slots=True)
class KeyHolder:
    """Whom a key belongs to, and what may be done with it: dollars, requests at once, requests a minute.

    Holders of one name share all of it.
    """

    name: str = ""
    budget: float | None = None
    concurrent: int | None = None
    per_minute: int | None = None
    is_one_of_several: bool = False


ANYBODY = KeyHolder()


@dataclass(frozen=True, slots=True)
class Keys:
    """All keys that are good; without any, everybody on this machine may ask."""

    holders: Mapping[bytes, KeyHolder] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, keys: Iterable[ServeKey]) -> "Keys":
        keys = tuple(keys)
        several = len({key.name or key.key for key in keys}) > 1
        return cls({key.key.encode(): _holder(key, several) for key in keys})

    def holder(self, headers: Mapping[str, str]) -> KeyHolder:
        """Returns the holder of the key; raises `Denied`.

        A key is compared with every known one, each in constant time.
        """
        if not self.holders:
            _require_local(headers)
            return ANYBODY
        presented = [each for each in (headers.get("x-api-key", ""), _bearer(headers)) if each]
        if not presented:
            raise Denied(401, NO_KEY)
        spelled = [each.encode("utf-8", "surrogateescape") for each in presented]
        found = [holder for each in spelled for key, holder in self.holders.items() if compare_digest(key, each)]
        if not found:
            raise Denied(401, WRONG_KEY)
        return found[0]


def is_loopback(host: str) -> bool:
    with suppress(ValueError):
        return ip_address(host.strip("[]")).is_loopback
    return host == "localhost" or host.endswith(".localhost")


def _holder(key: ServeKey, several: bool) -> KeyHolder:
    """Keys without a name get one that tells them apart in the log, and nothing about them."""
    name = key.name or f"key-{hashlib.sha256(key.key.encode()).hexdigest()[:8]}"
    return KeyHolder(name, key.budget_usd, key.concurrent, key.per_minute, several)


def _bearer(headers: Mapping[str, str]) -> str:
    stated = headers.get("authorization", "")
    return stated[len(BEARER) :].strip() if stated[: len(BEARER)].lower() == BEARER else ""


def _require_local(headers: Mapping[str, str]) -> None:
    """A web page can make a browser ask us: by a name of its own that leads here, or from its own origin."""
    host = headers.get("host", "")
    if not _leads_here(f"//{host}"):
        raise Denied(403, f"Without keys only this machine may ask, by its own name, not by {host[:100]!r}.")
    origin = headers.get("origin")
    if origin is not None and _is_web(origin) and not _leads_here(origin):
        raise Denied(403, f"Without keys, pages of {origin[:100]!r} may not ask.")


@lru_cache
def _leads_here(address: str) -> bool:
    with suppress(ValueError):
        return is_loopback(urlsplit(address).hostname or "")
    return False


def _is_web(origin: str) -> bool:
    """Desktop programs have origins with schemes of their own."""
    return origin == "null" or origin.lower().startswith(("http:", "https:"))


@dataclass(slots=True)
class KeyBudgets:
    """One budget for each key, by its holder's name; `folder` is where what they spent is kept, None for nowhere.

    `unpriced` says whether models may answer for a key with a budget whose price is unknown. While what was spent can't
    be kept, `warn` is told once and keys with a budget are refused, so that no restart gives them dollars twice.
    """

    spent: dict[str, Ledger] = field(default_factory=dict)
    folder: Path | None = None
    unpriced: Literal["refuse", "allow"] = "refuse"
    warn: Callable[[str], object] = str
    _fault: str = ""
    _lock: RunLock | None = None
    _timer: asyncio.TimerHandle | None = None
    _open: dict[str, Budget] = field(default_factory=dict)

    @classmethod
    def load(cls, state: Path) -> "KeyBudgets":
        """Returns the budgets in the first worker's place that no other worker has taken. Raises `ConfigError`."""
        for number in count():
            folder = state / f"worker-{number}"
            with suppress(JournalError):
                try:
                    make_private(folder)
                    lock = RunLock(folder)
                    return cls(_read_spent(folder / SPENT), folder, _lock=lock)
                except OSError as error:
                    words = f"What keys spend can't be kept in {folder}: {error.strerror}; set state under server:."
                    raise ConfigError(words) from error
        raise AssertionError("there is always another number")

    def budget_of(self, holder: KeyHolder) -> Budget:
        """Returns the budget of a request with this key; raises `BudgetExceeded` where nothing of it is left."""
        if not holder.name:
            return Budget()
        ledger = self.spent.setdefault(holder.name, Ledger())
        budget = self._open.setdefault(holder.name, Budget(ledger=ledger, payer=holder.name))
        budget.limits = SpendingLimits(holder.budget, unpriced=self.unpriced)
        if self._fault and holder.budget is not None:
            raise BudgetExceeded(
                f"The budget of {holder.name} is closed, as what is spent can't be kept: {self._fault}."
            )
        if budget.full_limit and holder.budget is not None:
            spent = f"${ledger.known_cost:.4f} of ${holder.budget:.2f}"
            raise BudgetExceeded(f"The budget of {holder.name} is used up with this worker: {spent}.")
        return budget

    def save_soon(self) -> None:
        """Has what was spent written down soon; where that fails, again and again until it can be."""
        if self.folder and not self._timer:
            self._timer = asyncio.get_running_loop().call_later(SOON, self._try_to_save)

    def close(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._try_to_save(again=False)
        if self._lock:
            self._lock.release()

    def _try_to_save(self, *, again: bool = True) -> None:
        self._timer = None
        try:
            self._save()
        except OSError as error:
            fault, self._fault = self._fault, error.strerror or str(error)
            if not fault:
                self.warn(f"What keys spend can't be kept in {self.folder}: {self._fault}. Their budgets are closed.")
            if again:
                self.save_soon()
            return
        if self._fault:
            self._fault = ""
            self.warn(f"What keys spend is kept in {self.folder} again.")

    def _save(self) -> None:
        if self.folder:
            new = self.folder / f"{SPENT}.new"
            new.write_bytes(to_json({name: ledger.known_cost for name, ledger in self.spent.items()}))
            os.replace(new, self.folder / SPENT)


def _read_spent(path: Path) -> dict[str, Ledger]:
    if not path.exists():
        return {}
    try:
        spent = from_json(path.read_bytes())
        return {str(name): Ledger(known_cost=float(dollars)) for name, dollars in spent.items()}
    except (ValueError, AttributeError, TypeError) as error:
        raise ConfigError(f"{path} does not say what keys have spent; mend or remove it.") from error
