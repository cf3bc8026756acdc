"""Authenticates clients by key, and holds what each key may spend."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from hmac import compare_digest
from typing import Literal
from urllib.parse import urlsplit

from pydantic_core import from_json, to_json

from ..config.server import ServeKey
from ..core.ledger import Budget, SpendingLimits
from ..providers._names import is_loopback
from .errors import Denied
from .shared import KeyDollars, SharedCounts
from .stored import SharedStore

BEARER_PREFIX = "bearer "
NO_KEY = "No key was presented: send it as x-api-key, or as Authorization: Bearer."
LIMITS = "limits/1/"
"""Prefix of limits in a store; the number is the version of their format."""
LIMITS_KEPT = 30 * 86_400.0
"""Seconds for which a store keeps the limits of a key."""
WRONG_KEY = "The key is not known here."


ANYBODY = ServeKey(key=NO_KEY)
"""Whoever asks a server that has no keys."""


@dataclass(frozen=True, slots=True)
class Keys:
    """All valid keys. Without any, every program on this machine may send requests."""

    holders: Mapping[bytes, ServeKey] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, keys: Iterable[ServeKey]) -> "Keys":
        return cls({key.key.encode(): _with_name(key) for key in keys})

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the holders. Keys with the same name share their limits."""
        return tuple(dict.fromkeys(key.name for key in self.holders.values()))

    def holder(self, headers: Mapping[str, str]) -> ServeKey:
        """Returns the key that is presented, with a name. Raises `Denied`.

        The key is compared with every known one, each in constant time, so that timing reveals nothing.
        """
        if not self.holders:
            _require_local(headers)
            return ANYBODY
        presented = [each for each in (headers.get("x-api-key", ""), _bearer(headers)) if each]
        if not presented:
            raise Denied(401, NO_KEY)
        # As bytes: `compare_digest` rejects text that is not ASCII, and a header may hold any bytes.
        spelled = [each.encode("utf-8", "surrogateescape") for each in presented]
        found = [holder for each in spelled for key, holder in self.holders.items() if compare_digest(key, each)]
        if not found:
            raise Denied(401, WRONG_KEY)
        return found[0]


async def other_limits(store: SharedStore, keys: Keys) -> Sequence[str]:
    """Returns a sentence for each holder with other limits at the last server on this store, and stores ours.

    Holders with the same name are counted together, but each server applies the limits of its own file. Raises
    `StoreError`.
    """
    ours = {holder.name: _limits(holder) for holder in keys.holders.values()}
    stored, sentences = await store.values([f"{LIMITS}{name}" for name in ours]), list[str]()
    for name, limits in ours.items():
        last = from_json(stored.get(f"{LIMITS}{name}", b"null"))
        if limits != last:
            await store.keep_value(f"{LIMITS}{name}", to_json(limits), LIMITS_KEPT)
        if last and limits != last:
            sentences.append(
                f"{name} has {_limits_text(limits)} here, and had {_limits_text(last)} at the last server on this "
                "store. What it uses is counted together; each server keeps the limits of its own file."
            )
    return sentences


def _limits(holder: ServeKey) -> Mapping[str, float | None]:
    return {"budget_usd": holder.budget_usd, "concurrent": holder.concurrent, "per_minute": holder.per_minute}


def _limits_text(limits: Mapping[str, float | None]) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in limits.items() if value is not None) or "no limits"


def _with_name(key: ServeKey) -> ServeKey:
    """Gives a key without a name one that tells it apart in the log and reveals nothing."""
    name = key.name or f"key-{hashlib.sha256(key.key.encode()).hexdigest()[:8]}"
    return key.model_copy(update={"name": name})


def _bearer(headers: Mapping[str, str]) -> str:
    stated = headers.get("authorization", "")
    return stated[len(BEARER_PREFIX) :].strip() if stated[: len(BEARER_PREFIX)].lower() == BEARER_PREFIX else ""


def _require_local(headers: Mapping[str, str]) -> None:
    """Raises `Denied` for requests that a web page makes a browser send, also by DNS rebinding."""
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
    """Checks whether an origin is a web page's. Desktop programs use schemes of their own."""
    return origin == "null" or origin.lower().startswith(("http:", "https:"))


@dataclass(slots=True)
class KeyBudgets:
    """One budget for each holder; with `counts` they hold over all workers.

    `unpriced` says whether models without a known price may answer for a key with a budget.
    """

    counts: SharedCounts | None = None
    unpriced: Literal["refuse", "allow"] = "refuse"
    _open: dict[str, Budget] = field(default_factory=dict)

    def budgets_of(self, holder: ServeKey) -> tuple[Budget, ...]:
        """Returns the budget of a key, or nothing without keys."""
        if not holder.name:
            return ()
        budget = self._open.get(holder.name) or self._new(holder.name)
        budget.limits = SpendingLimits(holder.budget_usd, unpriced=self.unpriced)
        return (budget,)

    def _new(self, name: str) -> Budget:
        shared = KeyDollars(self.counts, name) if self.counts else None
        budget = self._open[name] = Budget(payer=name, shared=shared)
        return budget
