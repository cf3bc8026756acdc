"""Who may ask, with which key, and what each key may spend."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from hmac import compare_digest
from ipaddress import ip_address
from typing import Literal
from urllib.parse import urlsplit

from pydantic_core import from_json, to_json

from ..config.server import ServeKey
from ..core.errors import BudgetExceeded
from ..core.ledger import Budget, SpendingLimits
from .errors import Denied
from .shared import KeyDollars, SharedCounts
from .stored import ResponseStore

BEARER = "bearer "
NO_KEY = "No key was presented: send it as x-api-key, or as Authorization: Bearer."
LIMITS = "limits/1/"
"""How their names in a store begin; the number is that of their form, for other versions."""
LIMITS_KEPT = 30 * 86_400.0
"""Seconds for which a store knows the limits of a key."""
WRONG_KEY = "The key is not known here."


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


async def other_limits(store: ResponseStore, keys: Keys) -> Sequence[str]:
    """Says which holders had other limits at the last server that came to this store, and tells it those of this one.

    Holders are counted together by their name, and each server keeps the limits of its own file. Raises `StoreError`.
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


def _limits(holder: KeyHolder) -> Mapping[str, float | None]:
    return {"budget_usd": holder.budget, "concurrent": holder.concurrent, "per_minute": holder.per_minute}


def _limits_text(limits: Mapping[str, float | None]) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in limits.items() if value is not None) or "no limits"


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
    """One budget for each key, by its holder's name; with `counts` they hold over all workers.

    `unpriced` says whether models may answer for a key with a budget whose price is unknown.
    """

    counts: SharedCounts | None = None
    unpriced: Literal["refuse", "allow"] = "refuse"
    _open: dict[str, Budget] = field(default_factory=dict)

    def budgets_of(self, holder: KeyHolder) -> tuple[Budget, ...]:
        """Returns the budget of a key, none for who needs no key; raises `BudgetExceeded` if nothing of it is left."""
        if not holder.name:
            return ()
        budget = self._open.get(holder.name) or self._new(holder.name)
        budget.limits = SpendingLimits(holder.budget, unpriced=self.unpriced)
        if budget.full_limit and holder.budget is not None:
            spent = f"${budget.spent:.4f} of ${holder.budget:.2f}"
            raise BudgetExceeded(f"The budget of {holder.name} is used up: {spent}.")
        return (budget,)

    def _new(self, name: str) -> Budget:
        shared = KeyDollars(self.counts, name) if self.counts else None
        budget = self._open[name] = Budget(payer=name, shared=shared)
        return budget
